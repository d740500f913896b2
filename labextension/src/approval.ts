/** The anywidget entry of a question below its cell: traits → card, clicks → messages. */

import { Card } from './approvals/card';
import style from './approvals/style.css';

/** The part of anywidget's model that is used here. */
interface IModel {
  get(name: string): unknown;
  on(event: string, callback: (message: unknown) => void): void;
  off(event: string, callback: (message: unknown) => void): void;
  send(message: object): void;
}

const WORDS = { __: (text: string): string => text };

/** Draws into `el`; returns what ends it. */
function render({ model, el }: { model: IModel; el: HTMLElement }): () => void {
  const shared = document.createElement('style');
  shared.textContent = style;
  const told = (name: string): string => {
    const value = model.get(name);
    return typeof value === 'string' ? value : '';
  };
  const card = new Card(
    {
      id: told('question_id'),
      question: told('question'),
      preview: told('preview'),
      where: ''
    },
    WORDS,
    ({ verdict, text }) => {
      model.send({ op: 'answer', verdict, text });
    }
  );
  const receive = (message: unknown): void => {
    if (typeof message === 'object' && message !== null && 'error' in message) {
      card.refuse(String(message.error));
    }
  };
  model.on('msg:custom', receive);
  el.append(shared, card.node);
  // The cell that asks learns by this that answers reach it while it waits.
  model.send({ op: 'shown' });
  return () => {
    model.off('msg:custom', receive);
    card.node.remove();
    shared.remove();
  };
}

export default { render };
