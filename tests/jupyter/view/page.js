// A page with one timeline and a kernel made of paper: what it is asked is kept in `asked`, and
// answered from `answers` (by op; a text is an error), or not at all where that is null.
import timeline from '/timeline.js';

class Model {
  constructor(state) {
    this.state = state;
    this.listeners = new Map();
    this.asked = [];
    this.answers = {};
  }
  get(name) {
    return this.state[name];
  }
  on(event, callback) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), callback]);
  }
  off(event, callback) {
    this.listeners.set(
      event,
      (this.listeners.get(event) ?? []).filter(each => each !== callback)
    );
  }
  tell(event, value) {
    for (const callback of this.listeners.get(event) ?? []) {
      callback(value);
    }
  }
  set(changes) {
    Object.assign(this.state, changes);
    for (const name of Object.keys(changes)) {
      this.tell(`change:${name}`, changes[name]);
    }
  }
  send(message) {
    this.asked.push(message);
    const answer = this.answers[message.op];
    if (answer === undefined || answer === null) {
      return;
    }
    setTimeout(() => this.answer(message, answer), 1);
  }
  answer(message, answer) {
    this.tell(
      'msg:custom',
      typeof answer === 'string'
        ? { id: message.id, ok: false, error: answer, kind: 'RestoreError' }
        : { id: message.id, ok: true, result: answer }
    );
  }
}

globalThis.begin = (state, answers) => {
  const model = new Model(state);
  model.answers = answers;
  const el = document.getElementById('host');
  globalThis.model = model;
  globalThis.end = timeline.render({ model, el });
};
document.body.dataset.ready = 'yes';
