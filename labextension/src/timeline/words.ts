/** Where texts for people go through; JupyterLab's `TranslationBundle` fits. */
export interface IWords {
  /** `%1`, `%2` … stand for `args`. */
  __(text: string, ...args: (string | number)[]): string;
  /** `%1` stands for `count`. */
  _n(one: string, many: string, count: number, ...args: (string | number)[]): string;
}

/** The texts as they stand in the code. */
export const ENGLISH: IWords = {
  __: (text, ...args) => text.replace(/%(\d)/g, (_, at) => String(args[Number(at) - 1] ?? '')),
  _n: (one, many, count, ...args) => ENGLISH.__(count === 1 ? one : many, count, ...args)
};
