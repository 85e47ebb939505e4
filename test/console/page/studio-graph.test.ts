import { describe, expect, test } from 'vitest';
import {
  readDrawnGraph,
  buildPlacedGraph,
} from '../../../src/console/page/studio/drawing/layered-graph.ts';

const edge = (source: string, target: string) => ({ source, target });
const nodes = (...ids: string[]) => ids.map((id) => ({ id }));

describe('a graph', () => {
  test('stands in layers, and a loop leads back beside them', () => {
    const { nodes: placed, edges } = buildPlacedGraph(
      readDrawnGraph({
        nodes: nodes('s', 'a', 'b', 'e'),
        edges: [edge('s', 'a'), edge('a', 'b'), edge('b', 'a'), edge('a', 'e'), edge('b', 'b')],
      }),
    );
    const y = Object.fromEntries(placed.map(({ id, y: at }) => [id, at]));
    expect([y['s']! < y['a']!, y['a']! < y['b']!, y['a']! < y['e']!]).toEqual([true, true, true]);
    expect(edges.map(({ from, to, isBack }) => [from, to, isBack])).toEqual([
      ['s', 'a', false],
      ['a', 'b', false],
      ['b', 'a', true],
      ['a', 'e', false],
      ['b', 'b', true],
    ]);
  });

  test('leads a long edge past the nodes of the layers between, with an arrow at each end', () => {
    const { nodes: placed, edges } = buildPlacedGraph(
      readDrawnGraph({
        nodes: nodes('s', 'a', 'b', 'e'),
        edges: [edge('s', 'a'), edge('a', 'b'), edge('b', 'e'), edge('s', 'e')],
      }),
    );
    const long = edges.find(({ from, to }) => from === 's' && to === 'e');
    const points = [...(long?.path ?? '').matchAll(/([\d.]+) ([\d.]+)/g)].map(([, x, y]) => [
      Number(x),
      Number(y),
    ]);
    const crossed = placed.filter(
      ({ id, x, y, width, height }) =>
        ['a', 'b'].includes(id) &&
        points.some(
          ([px = 0, py = 0]) => px >= x && px <= x + width && py >= y && py <= y + height,
        ),
    );
    expect(points.length).toBeGreaterThan(8);
    expect(crossed).toEqual([]);
    expect(placed.map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'e', 's']);
    expect(edges.every(({ tip }) => tip.startsWith('M'))).toBe(true);
  });

  test('has a box around each graph within it, in which no other node stands', () => {
    const { nodes: placed, boxes } = buildPlacedGraph(
      readDrawnGraph({
        nodes: nodes('s', 'x', 'in:a', 'in:b', 'e'),
        edges: [edge('s', 'in:a'), edge('s', 'x'), edge('in:a', 'in:b'), edge('in:b', 'e')],
      }),
    );
    const [box] = boxes;
    expect(boxes.map(({ id }) => id)).toEqual(['in']);
    const within = placed.filter(
      ({ x, y }) =>
        x >= box!.x && x < box!.x + box!.width && y >= box!.y && y < box!.y + box!.height,
    );
    expect(within.map(({ id }) => id)).toEqual(['in:a', 'in:b']);
  });

  test.each([
    [null],
    ['x'],
    [{}],
    [{ nodes: 'x', edges: [{ source: {}, target: 'gone' }] }],
    [{ nodes: [{ id: 5 }, null] }],
  ])('of %j is drawn as far as it is one', (answer) => {
    const { nodes: placed, edges } = buildPlacedGraph(readDrawnGraph(answer));
    expect([placed.length <= 1, edges]).toEqual([true, []]);
  });

  test('of hundreds of nodes and edges is placed at once', () => {
    const ids = Array.from({ length: 300 }, (_, at) => `n${at}`);
    const edges = ids.flatMap((id, at) => [
      edge(id, ids[(at * 7 + 1) % 300]!),
      edge(id, ids[(at + 1) % 300]!),
    ]);
    const begun = performance.now();
    expect(buildPlacedGraph(readDrawnGraph({ nodes: nodes(...ids), edges })).nodes).toHaveLength(
      300,
    );
    expect(performance.now() - begun).toBeLessThan(2000);
  });
});
