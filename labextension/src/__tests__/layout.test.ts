import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layout, type ILayout, type INode } from '../timeline/layout';
import { history, seeded } from './histories';

/** Lanes that a line leaves row `index` by, at its top and at its bottom. */
function ends(placed: ILayout, index: number): { top: number[]; bottom: number[] } {
  const edges = placed.edges(index);
  const lanes = (...parts: string[]): number[] =>
    edges.filter(edge => parts.includes(edge.part)).map(edge => edge.lane);
  return { top: lanes('through', 'above', 'join'), bottom: lanes('through', 'below') };
}

/** A hundred histories, and where somebody stands in each. */
function* histories(): Generator<[INode[], string | null]> {
  for (let seed = 1; seed <= 100; seed++) {
    const chance = seeded(seed * 7919);
    const nodes = history(1 + Math.floor(chance() * 120), seed);
    const at = chance() < 0.2 ? null : (nodes[Math.floor(chance() * nodes.length)]?.id ?? null);
    yield [nodes, at];
  }
}

test('the lines of a row go on where those of the next begin', () => {
  for (const [nodes, at] of histories()) {
    const placed = layout(nodes, at);

    assert.deepEqual(ends(placed, 0).top, []);
    for (let index = 1; index < nodes.length; index++) {
      assert.deepEqual(ends(placed, index - 1).bottom, ends(placed, index).top);
    }
    assert.deepEqual(ends(placed, nodes.length - 1).bottom, []);
  }
});

test('no two lines share a lane', () => {
  for (const [nodes, at] of histories()) {
    const placed = layout(nodes, at);

    for (let index = 0; index < nodes.length; index++) {
      const { top, bottom } = ends(placed, index);
      assert.equal(new Set(top).size, top.length);
      assert.equal(new Set(bottom).size, bottom.length);
    }
  }
});

test('following the lines down from a checkpoint leads to its parent', () => {
  for (const [nodes, at] of histories()) {
    const placed = layout(nodes, at);
    const rows = new Map(nodes.map((node, index) => [node.id, nodes.length - 1 - index]));

    for (const node of nodes) {
      const start = rows.get(node.id) ?? 0;
      const lane = placed.lanes[start] ?? -1;
      let reached: number | null = null;
      if (placed.edges(start).some(edge => edge.lane === lane && edge.part === 'below')) {
        reached = start + 1;
        while (placed.edges(reached).some(e => e.lane === lane && e.part === 'through')) {
          reached += 1;
        }
      }

      assert.equal(reached, node.parent === null ? null : rows.get(node.parent));
    }
  }
});

test('the line of the position is the trunk, alone in the first lane', () => {
  for (const [nodes, at] of histories()) {
    const placed = layout(nodes, at);
    const parents = new Map(nodes.map(node => [node.id, node.parent]));
    const line = new Set<string>();
    for (let id = at; id !== null; id = parents.get(id) ?? null) {
      line.add(id);
    }

    nodes.forEach((node, index) => {
      if (line.has(node.id)) {
        assert.equal(placed.lanes[nodes.length - 1 - index], 0);
      }
    });
  }
});

test('a child keeps the lane of its parent, and further children open lanes', () => {
  const nodes = [
    { id: 'a', parent: null },
    { id: 'b', parent: 'a' },
    { id: 'c', parent: 'a' },
    { id: 'd', parent: 'b' },
    { id: 'e', parent: 'c' }
  ];

  const placed = layout(nodes, 'd');

  assert.deepEqual([...placed.lanes], [1, 0, 1, 0, 0]);
  assert.equal(placed.width, 2);
});

test('branches that run side by side have lanes of their own', () => {
  const nodes = [
    { id: 'a', parent: null },
    { id: 'b', parent: 'a' },
    { id: 'x', parent: 'a' },
    { id: 'c', parent: 'b' },
    { id: 'y', parent: 'b' }
  ];

  const placed = layout(nodes, 'c');

  // y, in the first row, runs down to b in the fourth, beside x in the third.
  assert.deepEqual([...placed.lanes], [1, 0, 2, 0, 0]);
});

test('lanes are freed: branches one after another take one lane', () => {
  const nodes: INode[] = [{ id: 't0', parent: null }];
  for (let number = 1; number <= 50; number++) {
    nodes.push({ id: `side${number}`, parent: `t${number - 1}` });
    nodes.push({ id: `t${number}`, parent: `t${number - 1}` });
  }

  const placed = layout(nodes, 't50');

  assert.equal(placed.width, 2);
});

test('a parent that is not listed leaves no line', () => {
  const placed = layout([{ id: 'b', parent: 'pruned' }], 'b');

  assert.deepEqual(placed.edges(0), []);
});

test('nothing has no rows', () => {
  const placed = layout([], null);

  assert.equal(placed.lanes.length, 0);
});

test('ten thousand checkpoints on many branches are placed within a frame', () => {
  const nodes = history(10_000, 3);
  layout(nodes, 'n9000');
  const times = Array.from({ length: 5 }, () => {
    const began = performance.now();
    const placed = layout(nodes, 'n9000');
    for (let index = 5000; index < 5040; index++) {
      placed.edges(index, 20);
    }
    return performance.now() - began;
  });

  const fastest = Math.min(...times);

  console.log(`10,000 checkpoints: ${fastest.toFixed(1)} ms`);
  assert.ok(fastest < 30, `${fastest} ms`);
});

test('what failed at one place has one lane together', () => {
  const nodes: INode[] = [
    { id: 'a', parent: null, state: 'done' },
    { id: 'b', parent: 'a', state: 'done' }
  ];
  for (let n = 0; n < 20; n++) {
    nodes.push({ id: `try-${n}`, parent: 'a', state: n % 2 ? 'failed' : 'partial' });
  }

  const placed = layout(nodes, 'b');

  assert.equal(placed.width, 2);
  assert.deepEqual([...placed.lanes], [...Array<number>(20).fill(1), 0, 0]);
  for (let index = 1; index < nodes.length; index++) {
    assert.deepEqual(ends(placed, index - 1).bottom, ends(placed, index).top);
  }
});
