/** Finds nbckpt in the kernel of one session, and keeps the two comms to it. */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel } from '@jupyterlab/services';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import { Questions } from '../questions';
import { isRecord } from '../shapes';
import { closeAsks, Comms, eventsOf, openAsks, PROTOCOL, TARGET } from './comms';
import type { IConnected, LinkState } from './connected';
import { ProcessWatch } from './process';

/**
 * Follows a session through restarts, lost connections and to another kernel.
 *
 * The kernel opens the comm of events when nbckpt is loaded there. Questions go over a comm of the
 * page, opened only then; the two stay apart, since ipykernel answers on the thread that spoke last
 * over a comm.
 */
export class Connection implements IDisposable {
  readonly questions: Questions;

  constructor(
    private readonly _context: ISessionContext,
    private readonly _told: IConnected
  ) {
    this.questions = new Questions({
      send: message => {
        this._send(message);
      },
      isBusy: () => _told.isBusy(),
      waits: () => undefined,
      remedy: 'if it no longer does anything, restart it'
    });
    _context.kernelChanged.connect(() => {
      this._attach();
    }, this);
    _context.statusChanged.connect((_, status) => {
      this._onStatus(status);
    }, this);
    _context.iopubMessage.connect((_, message) => {
      this._process.hear(message);
    }, this);
    _context.connectionStatusChanged.connect((_, status) => {
      this._onConnection(status);
    }, this);
  }

  get kernel(): Kernel.IKernelConnection | null {
    const kernel = this._kernel;
    return kernel === null || kernel.isDisposed ? null : kernel;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Follow the kernel that is there now; called once, and then by its changes. */
  begin(): void {
    this._attach();
    const begun = (): void => {
      this._isOpen = true;
      if (this.kernel === null && !this._isDisposed) {
        this._become('no-kernel');
      }
    };
    this._context.ready.then(begun, begun);
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    Signal.clearData(this);
    this.kernel?.removeCommTarget(TARGET, this._announced);
    this._leave('the notebook was closed');
  }

  private _attach(): void {
    const kernel = this._context.session?.kernel ?? null;
    if (kernel === this._kernel && kernel !== null) {
      return;
    }
    this.kernel?.removeCommTarget(TARGET, this._announced);
    this._leave('the notebook has another kernel now');
    if (this._kernel !== null) {
      this._told.ended('changed');
    }
    this._kernel = kernel;
    this._isRestarting = false;
    if (this.kernel === null) {
      // A notebook that is being opened is about to have one.
      this._become(this._isOpen ? 'no-kernel' : 'starting');
      return;
    }
    this._isOpen = true;
    this.kernel.registerCommTarget(TARGET, this._announced);
    this._look();
  }

  /** See whether nbckpt is loaded already: the page may be newer than the kernel. */
  private _look(): void {
    const kernel = this.kernel;
    if (kernel === null) {
      return;
    }
    this._become('starting');
    const turn = ++this._turn;
    const found = (id: string | null): void => {
      if (turn !== this._turn) {
        return; // announced, restarted or changed meanwhile
      }
      if (id === null) {
        this._become('not-loaded');
      } else {
        // Made here and not before: one that nobody listens to would hide it from the next look.
        this._listen(kernel, kernel.createComm(TARGET, id));
      }
    };
    // Where the connection goes away instead, what comes after it begins anew.
    eventsOf(kernel).then(found, () => undefined);
  }

  private readonly _announced = (
    events: Kernel.IComm,
    message: { content: { data: unknown } }
  ): void => {
    const kernel = this.kernel;
    if (kernel === null || this._isDisposed) {
      return;
    }
    const { data } = message.content;
    this._leave('nbckpt was loaded anew');
    if (isRecord(data) && data.protocol === PROTOCOL) {
      this._listen(kernel, events);
    } else {
      this._become('lost', 'This page and the nbckpt of its kernel are of different versions.');
    }
  };

  private _listen(kernel: Kernel.IKernelConnection, events: Kernel.IComm): void {
    this._turn++;
    this._comms.events = events;
    events.onMsg = message => {
      this._process.know(message);
      this.questions.heard();
      this._told.heard(message.content.data);
    };
    events.onClose = () => {
      if (this._comms.events === events) {
        this.unloaded();
      }
    };
    this._become('loading');
    // Not awaited: a comm's callback that waits holds up all that the kernel says.
    void this._open(kernel);
  }

  private async _open(kernel: Kernel.IKernelConnection): Promise<void> {
    const turn = this._turn;
    try {
      const asks = await openAsks(kernel, message => {
        this._process.know(message);
        this.questions.receive(message.content.data);
      });
      if (turn !== this._turn) {
        closeAsks(asks);
        return;
      }
      this._comms.asks = asks;
      await this._told.greet();
      if (turn === this._turn) {
        this._become('ready');
      }
    } catch (error) {
      if (turn === this._turn) {
        this._become('lost', error instanceof Error ? error.message : String(error));
      }
    }
  }

  /** The kernel has nbckpt no longer. */
  unloaded(): void {
    this._leave('nbckpt was unloaded');
    this._told.ended(null);
    this._become('not-loaded');
  }

  /** Restarted from another window: JupyterLab tells only the one that did it. */
  private _replaced(): void {
    this._comms.forsake();
    this.questions.giveUp('the kernel was restarted');
    this._told.ended('restarted');
    this._look();
  }

  private _onStatus(status: Kernel.Status): void {
    if (status === 'restarting' || status === 'autorestarting') {
      this._isRestarting = true;
      this._process.forget();
      this._turn++;
      // JupyterLab disposes of the comms itself; doing it twice would take a subshell too many.
      this._comms.forget();
      this.questions.giveUp('the kernel was restarted');
      this._told.ended(status === 'restarting' ? 'restarted' : 'died');
      this._become('starting');
    } else if (status === 'dead') {
      this._leave('the kernel died');
      this._told.ended('died');
      this._become('lost', 'The kernel died.');
    } else if (this._isRestarting && (status === 'idle' || status === 'busy')) {
      this._isRestarting = false;
      this._look();
    }
  }

  /** The network was away for a while: events of that time are missing. */
  private _onConnection(status: Kernel.ConnectionStatus): void {
    if (status === 'connected' && this._state === 'ready') {
      this._told.greet().catch(() => undefined);
    }
  }

  private _send(message: object): void {
    if (!this._comms.send(message)) {
      throw new Error(
        this._state === 'starting'
          ? 'the kernel is starting, or busy with a cell: choose this again then'
          : 'the kernel is new, and nbckpt is not loaded in it yet: resume, or begin anew'
      );
    }
  }

  private _leave(why: string): void {
    this._turn++;
    this._process.forget();
    this.questions.giveUp(why);
    this._comms.leave();
  }

  private _become(state: LinkState, problem = ''): void {
    this._state = state;
    this._told.became(state, problem);
  }

  private readonly _comms = new Comms();
  private readonly _process = new ProcessWatch(() => {
    this._replaced();
  });
  private _kernel: Kernel.IKernelConnection | null = null;
  private _state: LinkState = 'no-kernel';
  private _isOpen = false;
  private _isRestarting = false;
  private _isDisposed = false;
  /** What was begun in an earlier turn is no longer wanted. */
  private _turn = 0;
}
