/** What the buttons do: open a form or ask the kernel, and show what came of it. */

import type { IRow, IWritten } from '../records';
import { cellsOf } from './cells';
import { button } from './dom';
import { forkForm, type IForkRequest } from './fork';
import { otherForm, rerunForm, rewindForm, textForm } from './forms';
import type { Notice } from './notice';
import type { Pane } from './pane';
import type { Reader } from './reader';
import type { IRerunOptions, IVerbs } from './verbs';
import type { IWords } from './words';

/** What the tasks need of the view around them. */
export interface ISurroundings {
  /** The checkpoint that is selected. */
  subject(): IRow | null;
  branches(): string[];
  /** Select a checkpoint, now or as soon as it is listed. */
  reveal(id: string): void;
  /** Show this in the pane until something else is selected. */
  showInstead(content: HTMLElement): void;
  focusList(): void;
}

/** What a button or a key asks for, of the checkpoint that is selected. */
export type TaskVerb = 'rewind' | 'fork' | 'rerun' | 'tag' | 'note';

/** One method for each button. */
export class Tasks {
  constructor(
    private readonly _around: ISurroundings,
    private readonly _parts: { pane: Pane; notice: Notice; reader: Reader },
    private readonly _verbs: IVerbs,
    private readonly _words: IWords
  ) {}

  /** Do what a button says. */
  do(verb: TaskVerb): void {
    this[verb]();
  }

  /** Rewind when it is confirmed: a key is pressed more easily than a button. */
  askRewind(): void {
    this._with(row => {
      if (!row.own) {
        this.rewind();
        return;
      }
      this._parts.pane.open(
        rewindForm(
          row.name,
          this._words,
          () => {
            this.rewind();
          },
          this.cancel
        )
      );
    });
  }

  rewind(): void {
    this._with(row => {
      const what = this._words.__('Rewind to %1', row.name);
      this._agreed(row, what, () => {
        void this._perform(what, () => this._verbs.rewind(row.id, !row.own)).then(written => {
          if (written) {
            this._offerReturn(written);
          }
        });
      });
    });
  }

  fork(): void {
    this._with(row => {
      const known = {
        branches: this._around.branches(),
        variables: this._parts.reader.details?.variables.map(one => one.name) ?? row.changed
      };
      const submit = (request: IForkRequest): void => {
        const what = this._words.__('Fork from %1', row.name);
        void this._perform(what, () =>
          this._verbs.fork(row.id, request.branch, request.values, !row.own)
        ).then(written => {
          if (written?.status?.position) {
            this._around.reveal(written.status.position);
          }
        });
      };
      this._agreed(row, this._words.__('Fork from %1', row.name), () => {
        this._parts.pane.open(forkForm(row.name, known, this._words, submit, this.cancel));
      });
    });
  }

  rerun(): void {
    this._with(row => {
      const other = !row.own;
      this._agreed(row, this._words.__('Rerun from %1', row.name), () => {
        if (this._verbs.asksBeforeRerun) {
          this._rerun(row, { everything: false, fresh: false, other });
          return;
        }
        const submit = (options: { everything: boolean; fresh: boolean }): void => {
          this._rerun(row, { ...options, other });
        };
        this._parts.pane.open(rerunForm(row.name, this._words, submit, this.cancel));
      });
    });
  }

  tag(): void {
    this._with(row => {
      const title = this._words.__('Tag %1', row.name);
      const submit = (tag: string): void => {
        void this._perform(title, () => this._verbs.tag(row.id, tag));
      };
      this._parts.pane.open(textForm('tag', title, '', this._words, submit, this.cancel));
    });
  }

  untag(tag: string): void {
    this._with(row => {
      const what = this._words.__('Take #%1 from %2', tag, row.name);
      void this._perform(what, () => this._verbs.untag(row.id, tag));
    });
  }

  note(): void {
    this._with(row => {
      const title = this._words.__('Note on %1', row.name);
      const submit = (text: string): void => {
        void this._perform(title, () => this._verbs.note(row.id, text));
      };
      this._parts.pane.open(textForm('note', title, row.note, this._words, submit, this.cancel));
    });
  }

  /** Bring one variable back as it was at a checkpoint. */
  async restore(variable: string, ref: string): Promise<void> {
    const what = this._words.__('Bring %1 back', variable);
    const written = await this._perform(what, () => this._verbs.restore(variable, ref));
    if (written?.status?.position) {
      this._offerReturn(written);
    }
  }

  /** Go to a branch whose head is selected. */
  switchTo(branch: string): void {
    this._with(row => {
      const what = this._words.__('Switch to %1', branch);
      this._agreed(row, what, () => {
        void this._perform(what, () => this._verbs.switch(branch, !row.own)).then(written => {
          if (written?.status?.position) {
            this._around.reveal(written.status.position);
          }
        });
      });
    });
  }

  /** Close the form; the list has the keys again. */
  readonly cancel = (): void => {
    this._parts.pane.closeForm();
    this._around.focusList();
  };

  /** Go on with a move; to what another notebook made only when the user has agreed. */
  private _agreed(row: IRow, what: string, move: () => void): void {
    if (row.own) {
      move();
      return;
    }
    const agree = (): void => {
      this._parts.pane.closeForm();
      move();
    };
    this._parts.pane.open(otherForm(what, row, this._words, agree, this.cancel));
  }

  private _rerun(row: IRow, options: IRerunOptions): void {
    const what = this._words.__('Rerun from %1', row.name);
    void this._perform(what, () => this._verbs.rerun(row.id, options)).then(written => {
      // The notebook's own cells tell what became of them themselves.
      if (written && !this._verbs.asksBeforeRerun) {
        this._around.showInstead(
          cellsOf(written, this._words, id => {
            this._around.reveal(id);
          })
        );
      }
    });
  }

  private _with(task: (row: IRow) => void): void {
    const row = this._around.subject();
    if (row) {
      task(row);
    }
  }

  /** Ask; a form stays open with what was typed if the kernel refuses. */
  private async _perform(what: string, ask: () => Promise<IWritten>): Promise<IWritten | null> {
    const { pane, notice } = this._parts;
    const form = pane.form;
    const written = await notice.perform(what, ask, why => {
      const isOpen = form !== null && pane.form === form;
      if (isOpen) {
        form.refuse(why);
      }
      return isOpen;
    });
    if (written && pane.form === form) {
      if (form) {
        this.cancel();
      }
    } else if (!written && pane.form && pane.form === form) {
      form.focus();
    }
    return written;
  }

  private _offerReturn(written: IWritten): void {
    const back = button('goBack', this._words.__('Go back'), () => {
      void this._perform(this._words.__('Go back'), () => this._verbs.rewind('-', true));
    });
    const text = written.error ?? written.text;
    if (text !== '') {
      this._parts.notice.tell(text, written.error ? 'error' : 'done', back);
      this._parts.notice.keepWhileAt(written.status?.position ?? null);
    }
  }
}
