/** Checks of plain data, put together from small ones; an error names the place. */

/** Returns `value` as a T, or throws a `Mismatch`. */
export type Check<T> = (value: unknown) => T;

/** Something is not what it should be; its place is told from the inside out, and only then. */
class Mismatch extends Error {
  constructor(
    readonly wanted: string,
    public at = ''
  ) {
    super(wanted);
  }
}

/** What `check` makes of `value`, or an error in one sentence that begins the place with `name`. */
export function checked<T>(check: Check<T>, value: unknown, name: string): T {
  try {
    return check(value);
  } catch (error) {
    if (!(error instanceof Mismatch)) {
      throw error;
    }
    throw new TypeError(
      "the kernel's nbckpt is of another version than this page: " +
        `${name}${error.at} is no ${error.wanted}; reload the page and run %timeline again`
    );
  }
}

/** Say that something is not what is `wanted`. */
export function refuse(wanted: string): never {
  throw new Mismatch(wanted);
}

/** Add to a mismatch where it was found. */
function inside(error: unknown, at: string): unknown {
  if (error instanceof Mismatch) {
    error.at = at + error.at;
  }
  return error;
}

/** Whether `value` has members. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A text of a notebook's file, which may have it in lines; empty of anything else. */
export function textOf(value: unknown): string {
  const whole: unknown = Array.isArray(value) ? value.join('') : value;
  return typeof whole === 'string' ? whole : '';
}

export const text: Check<string> = value => (typeof value === 'string' ? value : refuse('text'));
export const number: Check<number> = value =>
  typeof value === 'number' && Number.isFinite(value) ? value : refuse('number');
export const flag: Check<boolean> = value =>
  typeof value === 'boolean' ? value : refuse('boolean');

/** Lists keep what is missing as empty: a kernel may have nothing to say about it. */
export function list<T>(check: Check<T>): Check<T[]> {
  return value => {
    const items = value ?? [];
    if (!Array.isArray(items)) {
      return refuse('list');
    }
    return items.map((item: unknown, index) => {
      try {
        return check(item);
      } catch (error) {
        throw inside(error, `[${index}]`);
      }
    });
  };
}

/** What `check` says, or `missing` where there is nothing. */
export function or<T>(check: Check<T>, missing: T): Check<T> {
  return value => (value === undefined || value === null ? missing : check(value));
}

/** What `check` says, or null where there is nothing. */
export function optional<T>(check: Check<T>): Check<T | null> {
  return or<T | null>(check, null);
}

/** A record with these members; others are left out. */
export function shaped<T>(members: { [K in keyof T]: Check<T[K]> }): Check<T> {
  const names = Object.keys(members) as (keyof T & string)[];
  return value => {
    if (!isRecord(value)) {
      return refuse('record');
    }
    const made: Partial<T> = {};
    for (const name of names) {
      try {
        made[name] = members[name](value[name]);
      } catch (error) {
        throw inside(error, `.${name}`);
      }
    }
    return made as T;
  };
}
