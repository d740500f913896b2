/** The side panel: the timeline of the notebook that the user works in. */

import { settingsIcon } from '@jupyterlab/ui-components';
import type { CommandRegistry } from '@lumino/commands';
import type { Message } from '@lumino/messaging';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import type { IRow } from '../records';
import { make } from '../timeline/dom';
import type { Verb } from '../timeline/keys';
import type { IWords } from '../timeline/words';
import type { Cache } from './cache';
import type { KernelLink } from './kernellink';
import type { ILinked, Links } from './kernellinks';
import { type IResumeVerbs, NotebookView } from './notebookview';
import type { IOffer } from './resumeplan';
import type { Settings } from './settings';
import { leaveShortcuts } from './shortcuts';
import { type IPlight, type Remedy, stateNode } from './states';
import type { IPageVerbs } from './verbs';

/** What the panel is made of. */
export interface IParts {
  links: Links;
  words: IWords;
  cache: Cache;
  commands: CommandRegistry;
  /** What a resume of a notebook would bring back; null where it never used nbckpt. */
  recall: (path: string) => Promise<IOffer | null>;
  resumes: IResumeVerbs;
  settings: Settings;
  /** What goes back and runs again in the page; without it, the kernel alone does. */
  page: IPageVerbs | null;
}

/** A checkpoint of a notebook. */
export interface IChosen extends ILinked {
  row: IRow;
}

/** The application's own commands that help out of a plight. */
const COMMANDS: Readonly<Partial<Record<Remedy, string>>> = {
  settings: 'settingeditor:open',
  open: 'notebook:create-new',
  'choose-kernel': 'notebook:change-kernel',
  restart: 'notebook:restart-kernel'
};

/** Follows the current notebook, and keeps for each what the user had selected there. */
export class CheckpointsPanel extends Widget {
  /** Above the timeline: where what wants an answer from the user is put. */
  readonly attention = make('div', 'attention');

  constructor(private readonly _parts: IParts) {
    super();
    const { links, words } = _parts;
    this.addClass('nbckpt-Panel');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', words.__('Checkpoints'));
    this._name = make('h2', 'sideName');
    this._body = make('div', 'sheet');
    this._gear = make('button', 'sideGear', {
      type: 'button',
      title: words.__('Settings of the checkpoints'),
      'aria-label': words.__('Settings of the checkpoints')
    });
    settingsIcon.element({ container: this._gear, stylesheet: 'menuItem' });
    this._gear.addEventListener('click', () => {
      this._act('settings');
    });
    const head = make('div', 'sideHead', {}, [this._name, this._gear]);
    this.node.append(head, this.attention, this._body);
    this._endShortcuts = leaveShortcuts(this.node, _parts.commands);
    links.currentChanged.connect(() => {
      this.update();
    }, this);
    this.update();
  }

  /** The checkpoint that is selected, null where none or two are. */
  get chosen(): IChosen | null {
    const shown = this._shown;
    const row = shown?.timeline?.selected ?? null;
    return shown && row ? { ...shown.linked, row } : null;
  }

  /** Select a checkpoint of the current notebook. */
  reveal(id: string): void {
    this._follow();
    this._shown?.draw();
    this._shown?.timeline?.reveal(id);
  }

  /** Do with the selected checkpoint what a key does in the list. */
  do(verb: Verb): void {
    this._shown?.timeline?.do(verb);
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    Signal.clearData(this);
    this._endShortcuts();
    for (const view of this._views.values()) {
      view.dispose();
    }
    this._views.clear();
    super.dispose();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this.update();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.update();
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    const target = this.node.querySelector<HTMLElement>('[role=listbox], .jp-mod-accept');
    target?.focus();
  }

  /** What comes in one message is drawn at once, and nothing is drawn that nobody sees. */
  protected override onUpdateRequest(message: Message): void {
    super.onUpdateRequest(message);
    this._gear.hidden = !this._parts.commands.hasCommand(COMMANDS.settings ?? '');
    if (this.isVisible) {
      this._follow();
      this._shown?.draw();
    }
  }

  private _follow(): void {
    const linked = this._parts.links.current;
    if (linked === null) {
      this._shown = null;
      this._name.textContent = '';
      this._say({ kind: 'no-notebook' });
      return;
    }
    const { label } = linked.panel.title;
    this._name.textContent = label;
    this._name.title = linked.link.context.path;
    const view = this._viewOf(linked);
    if (view.linked.panel !== linked.panel) {
      view.linked.panel = linked.panel; // another view of the same document
      this._hearTitle(linked);
    }
    if (view !== this._shown || view.node.parentNode !== this._body) {
      this._shown = view;
      this._body.replaceChildren(view.node);
    }
  }

  private _viewOf(linked: ILinked): NotebookView {
    const known = this._views.get(linked.link);
    if (known) {
      return known;
    }
    const { words, cache, page, recall, resumes, settings } = this._parts;
    const act = (remedy: Remedy): void => {
      this._act(remedy);
    };
    const view = new NotebookView(
      linked,
      { words, cache, page, recall, resumes, settings, act },
      () => {
        if (this._shown === view) {
          this.update();
        }
      }
    );
    this._views.set(linked.link, view);
    linked.link.context.disposed.connect(() => {
      this._views.delete(linked.link);
      view.dispose();
      if (this._shown === view) {
        this._shown = null; // a hidden panel is not drawn anew, and would hold it
      }
    }, this);
    this._hearTitle(linked);
    return view;
  }

  /** A notebook that is renamed tells it by its title. */
  private _hearTitle({ panel }: ILinked): void {
    panel.title.changed.connect(() => {
      this.update();
    }, this);
  }

  private _act(remedy: Remedy): void {
    const command = COMMANDS[remedy];
    if (command !== undefined) {
      const args = remedy === 'settings' ? { query: 'nbckpt' } : {};
      void this._parts.commands.execute(command, args);
    }
  }

  private _say(plight: IPlight): void {
    const act = (remedy: Remedy): void => {
      this._act(remedy);
    };
    this._body.replaceChildren(stateNode(plight, this._parts.words, act));
  }

  private readonly _endShortcuts: () => void;
  private readonly _name: HTMLElement;
  private readonly _gear: HTMLButtonElement;
  private readonly _body: HTMLElement;
  private readonly _views = new Map<KernelLink, NotebookView>();
  private _shown: NotebookView | null = null;
}
