import { readAnswerFields, toItems } from '../agent-answers.ts';

/* Places the nodes of a graph in layers, from the first to the last, and leads its edges between them. */

export type GraphNode = { id: string; label: string };
export type GraphEdge = { from: string; to: string; isConditional: boolean; label: string };
export type DrawnGraph = { nodes: readonly GraphNode[]; edges: readonly GraphEdge[] };

export type PlacedNode = GraphNode & { x: number; y: number; width: number; height: number };
/** The line of an edge and the tip of its arrow, as the commands of SVG paths. */
export type PlacedEdge = GraphEdge & { path: string; tip: string; isBack: boolean };
/** The box around the nodes of a subgraph. */
export type PlacedBox = {
  id: string;
  label: string;
  x: number;
  y: number;
  width: number;
  height: number;
};
export type PlacedGraph = {
  nodes: PlacedNode[];
  edges: PlacedEdge[];
  boxes: PlacedBox[];
  width: number;
  height: number;
};

const HEIGHT = 34;
const LAYER = 74;
const GAP = 28;
const EDGE = 24;
const LETTER = 7.6;
const SWEEPS = 6;
/** The width of the gap that an edge has in a layer which it passes, and how many gaps there are at most. */
const GAP_OF_EDGE = 12;
const MOST_GAPS = 2000;
const TIP = { length: 7, half: 3.5 };

/** Returns the names of the subgraphs that a node is in, from the outside in. `a:b:c` is a node of `b` in `a`. */
export const listGroups = (id: string): string[] =>
  id
    .split(':')
    .slice(0, -1)
    .map((_, index, parts) => parts.slice(0, index + 1).join(':'));

/** Returns the edges that lead back to a node from which one came: loops, which layers have no place for. */
function findBackEdges({ nodes, edges }: DrawnGraph): Set<GraphEdge> {
  const out = Map.groupBy(edges, ({ from }) => from);
  const back = new Set<GraphEdge>();
  const state = new Map<string, 'open' | 'done'>();
  for (const { id } of nodes) {
    if (state.has(id)) continue;
    const stack = [{ id, left: [...(out.get(id) ?? [])] }];
    state.set(id, 'open');
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const edge = top.left.shift();
      if (edge === undefined) {
        state.set(top.id, 'done');
        stack.pop();
      } else if (state.get(edge.to) === 'open') back.add(edge);
      else if (!state.has(edge.to)) {
        state.set(edge.to, 'open');
        stack.push({ id: edge.to, left: [...(out.get(edge.to) ?? [])] });
      }
    }
  }
  return back;
}

/** Returns the layer of each node: one below the lowest node from which an edge leads to it. */
function measureLayers({ nodes }: DrawnGraph, forward: readonly GraphEdge[]): Map<string, number> {
  const layer = new Map(nodes.map(({ id }) => [id, 0]));
  for (let round = 0, isChanged = true; isChanged && round <= nodes.length; round += 1) {
    isChanged = false;
    for (const { from, to } of forward) {
      const wanted = (layer.get(from) ?? 0) + 1;
      if (wanted <= (layer.get(to) ?? 0)) continue;
      layer.set(to, wanted);
      isChanged = true;
    }
  }
  return layer;
}

/** Orders each layer so that nodes stand near those that they have edges with, and those of a subgraph together. */
function sortLayers(layers: string[][], forward: readonly GraphEdge[]): string[][] {
  const near = new Map<string, string[]>();
  for (const { from, to } of forward) {
    near.set(from, [...(near.get(from) ?? []), to]);
    near.set(to, [...(near.get(to) ?? []), from]);
  }
  let rows = layers;
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const place = new Map(
      rows.flatMap((row) => row.map((id, index) => [id, index - row.length / 2] as const)),
    );
    const measureMiddle = (id: string): number => {
      const places = (near.get(id) ?? []).map((one) => place.get(one) ?? 0);
      return places.length === 0
        ? (place.get(id) ?? 0)
        : places.reduce((sum, one) => sum + one, 0) / places.length;
    };
    rows = rows.map((row) => {
      const groups = Map.groupBy(row, (id) => listGroups(id)[0] ?? id);
      const weights = [...groups].map(([, ids]) => ({
        ids,
        weight: ids.reduce((sum, id) => sum + measureMiddle(id), 0) / ids.length,
      }));
      return weights
        .toSorted((a, b) => a.weight - b.weight)
        .flatMap(({ ids }) => ids.toSorted((a, b) => measureMiddle(a) - measureMiddle(b)));
    });
  }
  return rows;
}

/** A place in a layer through which an edge passes, so that it crosses no node there. */
type EdgeGap = { id: string; layer: number };

/** No node has such an id: those of an answer are texts without a null. */
const buildGapId = (edge: number, layer: number): string => `\0${edge} ${layer}`;

/** Returns the gaps of the edges that pass layers. A graph with very many of them has straight lines. */
function buildGaps(
  forward: readonly GraphEdge[],
  layer: ReadonlyMap<string, number>,
): Map<GraphEdge, EdgeGap[]> {
  const found = forward.map((edge, index) => {
    const [from, to] = [layer.get(edge.from) ?? 0, layer.get(edge.to) ?? 0];
    const passed = Array.from({ length: Math.max(0, to - from - 1) }, (_, at) => from + at + 1);
    return [edge, passed.map((at) => ({ id: buildGapId(index, at), layer: at }))] as const;
  });
  const count = found.reduce((sum, [, gaps]) => sum + gaps.length, 0);
  return new Map(count > MOST_GAPS ? [] : found);
}

/** Returns an edge as the pieces between its gaps. */
function splitEdge(edge: GraphEdge, gaps: readonly EdgeGap[]): GraphEdge[] {
  const stops = [edge.from, ...gaps.map(({ id }) => id), edge.to];
  return stops.slice(1).map((to, at) => ({ ...edge, from: stops[at] ?? edge.from, to }));
}

/** Returns where everything of a graph stands. */
export function buildPlacedGraph(given: DrawnGraph): PlacedGraph {
  const known = new Set(given.nodes.map(({ id }) => id));
  const graph = {
    nodes: given.nodes,
    edges: given.edges.filter(({ from, to }) => known.has(from) && known.has(to)),
  };
  const back = findBackEdges(graph);
  const forward = graph.edges.filter((edge) => !back.has(edge) && edge.from !== edge.to);
  const layer = measureLayers(graph, forward);
  const last = Math.max(0, ...layer.values());
  const gaps = buildGaps(forward, layer);
  const passed = [...gaps.values()].flat();
  const rows = Array.from({ length: last + 1 }, (_, at) => [
    ...graph.nodes.filter(({ id }) => layer.get(id) === at).map(({ id }) => id),
    ...passed.filter((gap) => gap.layer === at).map(({ id }) => id),
  ]);
  const pieces = forward.flatMap((edge) => splitEdge(edge, gaps.get(edge) ?? []));
  const placed = buildPlacedNodes(graph.nodes, sortLayers(rows, pieces));
  const nodes = [...placed.values()].filter(({ id }) => known.has(id));
  const boxes = buildBoxes(nodes);
  const lines = graph.edges.map((edge) =>
    buildEdge(edge, {
      isBack: back.has(edge) || edge.from === edge.to,
      gaps: gaps.get(edge) ?? [],
      nodes: placed,
    }),
  );
  const right = Math.max(0, ...[...placed.values(), ...boxes].map(({ x, width }) => x + width));
  const hasBack = lines.some(({ isBack }) => isBack);
  return {
    nodes,
    edges: lines,
    boxes,
    width: right + EDGE + (hasBack ? GAP : 0),
    height: (last + 1) * LAYER + EDGE,
  };
}

function buildPlacedNodes(nodes: readonly GraphNode[], rows: string[][]): Map<string, PlacedNode> {
  const labels = new Map(nodes.map(({ id, label }) => [id, label]));
  const measureWidth = (id: string): number => {
    const label = labels.get(id);
    return label === undefined
      ? GAP_OF_EDGE
      : Math.max(70, label.slice(0, 32).length * LETTER + 26);
  };
  const lengths = rows.map((row) => row.reduce((sum, id) => sum + measureWidth(id) + GAP, -GAP));
  const widest = Math.max(0, ...lengths);
  const found = new Map<string, PlacedNode>();
  for (const [at, row] of rows.entries()) {
    let x = EDGE + (widest - (lengths[at] ?? 0)) / 2;
    for (const id of row) {
      const width = measureWidth(id);
      found.set(id, {
        id,
        label: labels.get(id) ?? id,
        x,
        y: EDGE + at * LAYER,
        width,
        height: HEIGHT,
      });
      x += width + GAP;
    }
  }
  return found;
}

function buildBoxes(nodes: readonly PlacedNode[]): PlacedBox[] {
  const groups = [...new Set(nodes.flatMap(({ id }) => listGroups(id)))];
  return groups.map((id) => {
    const within = nodes.filter((node) => node.id.startsWith(`${id}:`));
    const pad = 12 - 2 * (id.split(':').length - 1);
    const x = Math.min(...within.map((node) => node.x)) - pad;
    const y = Math.min(...within.map((node) => node.y)) - pad - 8;
    const right = Math.max(...within.map((node) => node.x + node.width)) + pad;
    const bottom = Math.max(...within.map((node) => node.y + node.height)) + pad;
    return { id, label: id.split(':').at(-1) ?? id, x, y, width: right - x, height: bottom - y };
  });
}

type EdgeCourse = {
  isBack: boolean;
  gaps: readonly EdgeGap[];
  nodes: ReadonlyMap<string, PlacedNode>;
};

function buildEdge(edge: GraphEdge, { isBack, gaps, nodes }: EdgeCourse): PlacedEdge {
  const from = nodes.get(edge.from);
  const to = nodes.get(edge.to);
  if (from === undefined || to === undefined) return { ...edge, isBack, path: '', tip: '' };
  if (isBack) {
    // It runs on the side on which it begins, so that it crosses no node of its layer.
    const isLeft = from.x + from.width / 2 < to.x + to.width / 2;
    const [begin, end] = isLeft ? [from.x, to.x] : [from.x + from.width, to.x + to.width];
    const side = isLeft ? Math.max(2, Math.min(begin, end) - GAP) : Math.max(begin, end) + GAP;
    const [top, bottom] = [to.y + to.height / 2, from.y + from.height / 2];
    const back = (isLeft ? -1 : 1) * TIP.length;
    return {
      ...edge,
      isBack,
      tip: `M${end} ${top}l${back} ${-TIP.half}v${2 * TIP.half}z`,
      path: `M${begin} ${bottom} C${side} ${bottom} ${side} ${bottom} ${side} ${(top + bottom) / 2} C${side} ${top} ${side} ${top} ${end} ${top}`,
    };
  }
  const stops = [
    from,
    ...gaps.map(({ id }) => nodes.get(id)).filter((one) => one !== undefined),
    to,
  ];
  const curves = stops.slice(1).map((end, at) => {
    const begin = stops[at] ?? from;
    const [x1, y1] = [begin.x + begin.width / 2, begin.y + begin.height];
    const [x2, y2] = [end.x + end.width / 2, end.y];
    const bend = (y2 - y1) / 2;
    return `${at === 0 ? 'M' : 'L'}${x1} ${y1} C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
  });
  const [x, y] = [to.x + to.width / 2, to.y];
  return {
    ...edge,
    isBack,
    tip: `M${x} ${y}l${-TIP.half} ${-TIP.length}h${2 * TIP.half}z`,
    path: curves.join(' '),
  };
}

const toNodeText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

/** Nodes that are drawn. */
const MOST = 400;

/** Returns the graph of an agent's answer, of which nothing is believed. */
export function readDrawnGraph(answer: unknown): DrawnGraph {
  const { nodes, edges } = readAnswerFields(answer);
  const found = toItems(nodes)
    .map((one) => toNodeText(readAnswerFields(one)['id']))
    .filter((id) => id !== '');
  return {
    nodes: [...new Set(found)]
      .slice(0, MOST)
      .map((id) => ({ id, label: id.split(':').at(-1) ?? id })),
    edges: toItems(edges)
      .map(readAnswerFields)
      .map(({ source, target, conditional, data }) => ({
        from: toNodeText(source),
        to: toNodeText(target),
        isConditional: conditional === true,
        label: toNodeText(data),
      })),
  };
}
