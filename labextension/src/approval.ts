/** The anywidget entry of a question below its cell: traits → card, clicks → messages. */

import { Card } from './approvals/card';
import { Delivery } from './approvals/delivery';
import style from './approvals/style.css';
import { type IOfKernel, watchEnd } from './kernelend';

/** The part of anywidget's model that is used here. */
interface IModel extends IOfKernel {
  get(name: string): unknown;
  on(event: string, callback: (message: unknown) => void): void;
  off(event: string, callback: (message: unknown) => void): void;
  send(message: object): void;
}

const WORDS = { __: (text: string): string => text };
const SILENCE =
  'The kernel does not hear these buttons while its cell runs: answer in the line below, ' +
  'or with `nbckpt answer`.';

const GONE =
  'The kernel of this cell is gone: answer in the side panel, or with `nbckpt answer`, ' +
  'and run the cell again.';

/** Draws into `el`; returns what ends it. */
function render({ model, el }: { model: IModel; el: HTMLElement }): () => void {
  const shared = document.createElement('style');
  shared.textContent = style;
  const told = (name: string): string => {
    const value = model.get(name);
    return typeof value === 'string' ? value : '';
  };
  const delivery = new Delivery(model);
  const card: Card = new Card(
    {
      id: told('question_id'),
      question: told('question'),
      preview: told('preview'),
      where: ''
    },
    WORDS,
    ({ verdict, text }) => {
      delivery.send({ op: 'answer', verdict, text }, () => {
        card.refuse(SILENCE);
      });
    }
  );
  const receive = (message: unknown): void => {
    if (delivery.receive(message)) {
      return;
    }
    if (typeof message === 'object' && message !== null && 'error' in message) {
      card.refuse(String(message.error));
    }
  };
  model.on('msg:custom', receive);
  el.append(shared, card.node);
  // The cell that asks learns by this that answers reach it while it waits.
  delivery.send({ op: 'shown' });
  const stop = watchEnd(model, el, () => {
    delivery.dispose();
    card.end(GONE);
  });
  return () => {
    stop();
    delivery.dispose();
    model.off('msg:custom', receive);
    card.node.remove();
    shared.remove();
  };
}

export default { render };
