/** The anywidget entry: traits → view, clicks → messages. Keeps nothing between two views. */

import { Kernel } from './api';
import { asRows, asStatus } from './checks';
import { type IOfKernel, watchEnd } from './kernelend';
import { OutputNodes, type Registry } from './outputnode';
import { checked } from './shapes';
import { TimelineView } from './timeline/view';
import { ENGLISH } from './timeline/words';

/** The part of anywidget's model that is used here. */
interface IModel extends IOfKernel {
  get(name: string): unknown;
  on(event: string, callback: (message: unknown) => void): void;
  off(event: string, callback: (message: unknown) => void): void;
  send(message: object): void;
  readonly widget_manager?: IOfKernel['widget_manager'] & { readonly rendermime?: Registry };
}

const GONE = 'The kernel of this timeline is gone: run %timeline again.';

/** Draws into `el`; returns what ends it. */
function render({ model, el }: { model: IModel; el: HTMLElement }): () => void {
  const kernel: Kernel = new Kernel(
    message => {
      model.send(message);
    },
    () => view.isBusy,
    text => {
      view.wait(text);
    },
    () => drawerOf(model)
  );
  const view: TimelineView = new TimelineView(el, kernel);
  const refresh = (): void => {
    kernel.heard();
    try {
      const older = model.get('older');
      view.show(
        checked(asRows, model.get('rows'), 'rows'),
        checked(asStatus, model.get('status'), 'status'),
        typeof older === 'number' ? older : 0
      );
    } catch (error) {
      view.tell(error instanceof Error ? error.message : String(error), true);
    }
  };
  // One message may change all three traits: draw once.
  let planned = 0;
  const plan = (): void => {
    planned ||= window.setTimeout(() => {
      planned = 0;
      refresh();
    });
  };
  const receive = (message: unknown): void => {
    kernel.receive(message);
  };
  for (const name of ['rows', 'status', 'older']) {
    model.on(`change:${name}`, plan);
  }
  model.on('msg:custom', receive);
  refresh();
  const stop = watchEnd(model, el, () => {
    kernel.end(GONE);
    view.end(GONE);
  });
  return () => {
    stop();
    for (const name of ['rows', 'status', 'older']) {
      model.off(`change:${name}`, plan);
    }
    model.off('msg:custom', receive);
    window.clearTimeout(planned);
    kernel.dispose();
    view.dispose();
  };
}

/** JupyterLab's manager of widgets has what draws the outputs of its notebook. */
function drawerOf({ widget_manager }: IModel): OutputNodes | null {
  const registry = widget_manager?.rendermime;
  return registry?.createRenderer ? new OutputNodes(registry, ENGLISH) : null;
}

export default { render };
