/** Places checkpoints in rows and lanes. Pure. */

/** What of a checkpoint decides its place. */
export interface INode {
  id: string;
  parent: string | null;
  /** `failed` and `partial` ones share a lane with the others that began at the same place. */
  state?: string;
}

/** One line through a row. `join`: the end of a branch's lane, that bends into the row's dot. */
export interface IEdge {
  lane: number;
  part: 'through' | 'above' | 'below' | 'join';
}

export interface ILayout {
  /** Lane of each row, newest row first. */
  lanes: Int32Array;
  /** How many lanes are used at all. */
  width: number;
  /** The lines that cross row `index`, of the lanes below `limit`. */
  edges(index: number, limit?: number): IEdge[];
}

/** A line of checkpoints, each the first child of the next, and the lane it runs in. */
interface IPath {
  lane: number;
  /** Row of its newest checkpoint. */
  top: number;
  /** Row of its oldest checkpoint. */
  bottom: number;
  /** Row of that checkpoint's parent, in which the lane ends; `bottom` if it has none. */
  end: number;
}

/**
 * Place checkpoints in lanes: a child keeps its parent's lane, and every further child of the same
 * parent opens a new one, which is free again below the parent. What did not finish has a lane
 * together with the others that began there: of twenty tries, each in its own, nothing is seen.
 *
 * The line that `position` stands on is the trunk and has lane 0 to itself; without a position, the
 * newest checkpoint's line has.
 *
 * @param nodes - oldest first; a parent stands before its children, or is not listed
 * @returns rows newest first. Lines are told row by row when asked, so that ten thousand rows with
 *   hundreds of branches cost no more than the rows that are drawn
 */
export function layout(nodes: readonly INode[], position: string | null): ILayout {
  const count = nodes.length;
  const parents = parentRows(nodes);
  const heirs = heirRows(parents, trunkRow(nodes, position));
  const paths: IPath[] = [];
  const lanes = new Int32Array(count);
  const pathOf = new Int32Array(count);
  const free = new FreeLanes();
  const ending: (IPath[] | undefined)[] = [];
  const trunkTip = tipOf(trunkRow(nodes, position), heirs);
  const tries = new Map<number, number>();

  for (let row = 0; row < count; row++) {
    const heir = heirs[row] ?? -1;
    const begun = heir === -1 ? startOfTry(nodes, row, parents, heirs) : -1;
    const others = tries.get(begun);
    if (others !== undefined) {
      pathOf[row] = others;
      lanes[row] = paths[others]?.lane ?? 0;
      continue;
    }
    if (heir === -1) {
      const path = { lane: row === trunkTip ? 0 : free.take(), top: row, bottom: row, end: row };
      pathOf[row] = paths.push(path) - 1;
      if (begun !== -1) {
        tries.set(begun, pathOf[row] ?? 0);
      }
    } else {
      pathOf[row] = pathOf[heir] ?? 0;
    }
    const path = paths[pathOf[row] ?? 0];
    if (!path) {
      continue;
    }
    lanes[row] = path.lane;
    for (const ended of ending[row] ?? []) {
      free.give(ended.lane);
    }
    const parent = parents[row] ?? -1;
    if (parent !== -1 && heirs[parent] === row) {
      continue;
    }
    path.bottom = row;
    path.end = parent === -1 ? row : parent;
    if (parent !== -1) {
      (ending[parent] ??= []).push(path);
    } else {
      free.give(path.lane);
    }
  }
  return { lanes, width: free.width, edges: edgesBy(paths, lanes) };
}

/** Row of each row's parent, -1 if it is not listed. Rows count from the newest. */
function parentRows(nodes: readonly INode[]): Int32Array {
  const last = nodes.length - 1;
  const rows = new Map<string, number>();
  const parents = new Int32Array(nodes.length).fill(-1);
  nodes.forEach((node, index) => {
    const parent = node.parent === null ? undefined : rows.get(node.parent);
    parents[last - index] = parent ?? -1;
    rows.set(node.id, last - index);
  });
  return parents;
}

/** Row of the child that keeps each row's lane, -1 for a tip: the trunk's child, else the oldest. */
function heirRows(parents: Int32Array, trunk: number): Int32Array {
  const heirs = new Int32Array(parents.length).fill(-1);
  // From the newest down: what is written last, the oldest child, stays.
  parents.forEach((parent, row) => {
    if (parent !== -1) {
      heirs[parent] = row;
    }
  });
  for (let row = trunk; row !== -1; row = parents[row] ?? -1) {
    const parent = parents[row] ?? -1;
    if (parent !== -1) {
      heirs[parent] = row;
    }
  }
  return heirs;
}

/** Row at which a try began that did not finish and has a lane beside that row's; -1 if none. */
function startOfTry(
  nodes: readonly INode[],
  row: number,
  parents: Int32Array,
  heirs: Int32Array
): number {
  const parent = parents[row] ?? -1;
  const state = nodes[nodes.length - 1 - row]?.state ?? 'done';
  return state !== 'done' && parent !== -1 && heirs[parent] !== row ? parent : -1;
}

function trunkRow(nodes: readonly INode[], position: string | null): number {
  const index = nodes.findIndex(node => node.id === position);
  return index === -1 ? Math.min(0, nodes.length - 1) : nodes.length - 1 - index;
}

function tipOf(row: number, heirs: Int32Array): number {
  let tip = row;
  while (tip !== -1 && (heirs[tip] ?? -1) !== -1) {
    tip = heirs[tip] ?? -1;
  }
  return tip;
}

/** Paths by lane, newest first: in one lane they never overlap, so that a search finds the one. */
function edgesBy(paths: readonly IPath[], lanes: Int32Array): ILayout['edges'] {
  const columns: IPath[][] = [];
  for (const path of paths) {
    (columns[path.lane] ??= []).push(path);
  }
  return (index, limit = columns.length) => {
    const edges: IEdge[] = [];
    columns.slice(0, limit).forEach((column, lane) => {
      const path = lastStarted(column, index);
      if (!path || path.end < index) {
        return;
      }
      if (lane !== lanes[index]) {
        edges.push({ lane, part: index === path.end ? 'join' : 'through' });
        return;
      }
      if (path.top < index) {
        edges.push({ lane, part: 'above' });
      }
      if (index < path.end) {
        edges.push({ lane, part: 'below' });
      }
    });
    return edges;
  };
}

function lastStarted(column: readonly IPath[], row: number): IPath | undefined {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const path = column[middle];
    if (path && path.top <= row) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return column[low - 1];
}

/** Lanes that nobody uses, the leftmost first: a binary heap. Lane 0 is the trunk's. */
class FreeLanes {
  width = 1;

  take(): number {
    const heap = this._heap;
    const lane = heap[0];
    const last = heap.pop();
    if (lane === undefined || last === undefined) {
      return this.width++;
    }
    if (heap.length > 0) {
      this._sink(last);
    }
    return lane;
  }

  give(lane: number): void {
    if (lane === 0) {
      return;
    }
    const heap = this._heap;
    let at = heap.push(lane) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = heap[above] ?? 0;
      if (other <= lane) {
        break;
      }
      heap[at] = other;
      at = above;
    }
    heap[at] = lane;
  }

  private _sink(lane: number): void {
    const heap = this._heap;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) {
        break;
      }
      if ((heap[below + 1] ?? Infinity) < (heap[below] ?? Infinity)) {
        below += 1;
      }
      const other = heap[below] ?? 0;
      if (other >= lane) {
        break;
      }
      heap[at] = other;
      at = below;
    }
    heap[at] = lane;
  }

  private readonly _heap: number[] = [];
}
