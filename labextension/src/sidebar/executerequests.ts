/** What changes the kernel: hidden execute requests, in line with the notebook's cells. */

import type { Kernel } from '@jupyterlab/services';
import { asWritten } from '../checks';
import type { IWritten } from '../records';
import { checked, isRecord } from '../shapes';

/** The kernel threw the request away, because a cell before it failed or was interrupted. */
export class AbortedError extends Error {
  constructor() {
    super('a cell before it failed, so nothing was done: ask again');
  }
}

/** What the kernel ran raised something. */
export class RaisedError extends Error {
  /**
   * @param kind - the name of the exception's class
   */
  constructor(
    readonly kind: string,
    message: string
  ) {
    super(message === '' ? kind : message);
  }
}

/** Where the answer stands in the reply. */
const ANSWER = 'nbckpt';

/**
 * Run `code`, which the user does not see, after the cells that run or wait.
 *
 * @returns what `expression` is afterwards, as JSON; undefined if it has none
 */
export async function execute(
  kernel: Kernel.IKernelConnection,
  code: string,
  expression?: string
): Promise<unknown> {
  const future = kernel.requestExecute({
    code,
    silent: true,
    store_history: false,
    allow_stdin: false,
    user_expressions: expression === undefined ? {} : { [ANSWER]: expression }
  });
  let reply;
  try {
    reply = await future.done;
  } catch {
    throw new Error('the kernel ended before it answered; what was asked may not have been done');
  }
  const { content } = reply;
  if (content.status === 'error') {
    throw new RaisedError(content.ename, content.evalue);
  }
  if (content.status !== 'ok') {
    throw new AbortedError();
  }
  const told = content.user_expressions[ANSWER];
  if (isRecord(told) && told.status === 'error') {
    throw new Error(typeof told.evalue === 'string' ? told.evalue : 'the kernel refused');
  }
  return isRecord(told) && isRecord(told.data) ? told.data['application/json'] : undefined;
}

/** Have `op` done by the kernel. */
export async function write(
  kernel: Kernel.IKernelConnection,
  op: string,
  args: object
): Promise<IWritten> {
  const answer = await execute(kernel, '', expressionOf(op, args));
  if (!isRecord(answer)) {
    throw new Error(`the kernel did not say what came of ${op}; reload the page`);
  }
  if (answer.ok !== true) {
    throw new Error(typeof answer.error === 'string' ? answer.error : `the kernel refused ${op}`);
  }
  return checked(asWritten, answer.result, op);
}

/** Nothing of it is bound in the user's namespace. */
function expressionOf(op: string, args: object): string {
  const room = 'nbckpt.jupyter.page_writes';
  const given = [op, JSON.stringify(args)].map(python).join(', ');
  return `__import__('${room}', fromlist=['written']).written(${given})`;
}

/** A text as a literal of Python: what JSON escapes means the same there. */
function python(value: string): string {
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, one => {
    return `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
