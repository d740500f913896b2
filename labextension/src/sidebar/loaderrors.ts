/** Why nbckpt could not be loaded into a kernel, with what a user does about it. */

import { RaisedError } from './executerequests';

/** What Python raises where a module cannot be had, or was written for another Python. */
const IMPORTS: ReadonlySet<string> = new Set([
  'ModuleNotFoundError',
  'ImportError',
  'SyntaxError',
  'AttributeError'
]);

/** `error` with the next move; what nbckpt itself refuses says so already. */
export function withRemedy(error: unknown): unknown {
  if (!(error instanceof RaisedError)) {
    return error;
  }
  const { kind, message } = error;
  if (/^No module named '?nbckpt'?$/.test(message)) {
    return new Error('this kernel has no nbckpt: run %pip install nbckpt, then enable it');
  }
  if (IMPORTS.has(kind)) {
    return new Error(
      `nbckpt cannot be imported in this kernel (${message}): ` +
        'run %pip install --upgrade nbckpt, restart the kernel, then enable it'
    );
  }
  return error;
}
