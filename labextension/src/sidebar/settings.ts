/** The user's choices, and where they are kept: `schema/plugin.json` has their words. */

import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { type ISignal, Signal } from '@lumino/signaling';

/** Each choice and what it may be, the default first. */
const CHOICES = {
  enable: ['ask', 'always', 'never'],
  auto: ['marked', 'cost', 'every'],
  side: ['left', 'right'],
  offerResume: ['ask', 'always', 'never'],
  afterResume: ['ask', 'run', 'stop'],
  cellMarks: ['words', 'icons', 'off'],
  rewindPage: ['ask', 'always', 'never']
} as const;

type Choices = { [Name in keyof typeof CHOICES]: (typeof CHOICES)[Name][number] };

/** What the user chose; the defaults where an application keeps no settings. */
export class Settings {
  /** They have been read, or there is nothing to read. */
  readonly ready: Promise<void>;

  constructor(registry: ISettingRegistry | null, id: string) {
    this.ready = registry === null ? Promise.resolve() : this._load(registry, id);
  }

  /** Whether nbckpt is loaded into the kernel of every notebook. */
  get enable(): Choices['enable'] {
    return this._get('enable');
  }

  /** Which cells are checkpointed in a kernel that the page has loaded nbckpt into. */
  get auto(): Choices['auto'] {
    return this._get('auto');
  }

  get side(): Choices['side'] {
    return this._get('side');
  }

  /** Whether to resume when a kernel is new. */
  get offerResume(): Choices['offerResume'] {
    return this._get('offerResume');
  }

  /** Whether an automatic resume runs the rest of the notebook. */
  get afterResume(): Choices['afterResume'] {
    return this._get('afterResume');
  }

  get cellMarks(): Choices['cellMarks'] {
    return this._get('cellMarks');
  }

  get rewindPage(): Choices['rewindPage'] {
    return this._get('rewindPage');
  }

  /** One of them is another, or all have come. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Keep a choice. */
  async choose<Name extends keyof Choices>(name: Name, value: Choices[Name]): Promise<void> {
    this._chosen[name] = value;
    await this._kept?.set(name, value);
  }

  private _get<Name extends keyof Choices>(name: Name): Choices[Name] {
    const value = this._kept?.get(name).composite ?? this._chosen[name];
    const choices: readonly unknown[] = CHOICES[name];
    return (choices.includes(value) ? value : choices[0]) as Choices[Name];
  }

  private async _load(registry: ISettingRegistry, id: string): Promise<void> {
    try {
      this._kept = await registry.load(id);
      this._kept.changed.connect(() => this._changed.emit());
      this._changed.emit();
    } catch (error) {
      console.error('nbckpt: the settings could not be read, so the defaults hold', error);
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  // For as long as the page lives, where nothing keeps it longer.
  private readonly _chosen: Partial<Choices> = {};
  private _kept: ISettingRegistry.ISettings | null = null;
}
