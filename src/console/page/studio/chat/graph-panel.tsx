import { useComputed, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { describeFailure } from '../../api/failure-text.ts';
import type { ChatSession } from './chat-session.ts';
import { formatNames } from '../state-text.ts';
import type { NodeWork } from './live-run.ts';
import { Skeleton } from '../../shell/controls.tsx';
import { useStudio } from '../studio-parts.ts';
import {
  buildPlacedGraph,
  type DrawnGraph,
  type PlacedEdge,
  type PlacedNode,
} from '../drawing/layered-graph.ts';

/** The drawing of the assistant's graph, with the work of its nodes. */
export function GraphPanel({ session }: { session: ChatSession }) {
  const { agent } = useStudio();
  const drawn = useSignal<DrawnGraph | undefined>(undefined);
  const refused = useSignal<string | undefined>(undefined);
  const placed = useComputed(() =>
    drawn.value === undefined ? undefined : buildPlacedGraph(drawn.value),
  );
  useEffect(() => {
    const leaving = new AbortController();
    const read = async (): Promise<void> => {
      try {
        drawn.value = await agent.fetchGraph(session.assistant.peek(), leaving.signal);
      } catch (error) {
        if (!leaving.signal.aborted) refused.value = describeFailure(error);
      }
    };
    void read();
    return () => leaving.abort();
  }, [agent, session]);
  if (refused.value !== undefined) return <p class="fault">{refused.value}</p>;
  if (placed.value === undefined) return <Skeleton lines={5} />;
  const { nodes, edges, boxes, width, height } = placed.value;
  return (
    <div class="drawing">
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="group"
        aria-label="Graph"
      >
        {boxes.map(({ id, label, x, y, width: wide, height: high }) => (
          <g key={id} class="box">
            <rect x={x} y={y} width={wide} height={high} rx={8} />
            <text x={x + 6} y={y + 11}>
              {label.slice(0, LETTERS)}
            </text>
          </g>
        ))}
        {edges.map((edge, index) => (
          <EdgeShown key={index} edge={edge} />
        ))}
        {nodes.map((node) => (
          <NodeShown key={node.id} node={node} session={session} />
        ))}
      </svg>
      <p class="quiet">
        {session.stops.value.size === 0
          ? 'Click a node, and runs stop before it.'
          : `Runs stop before ${formatNames([...session.stops.value])}.`}
      </p>
    </div>
  );
}

const EdgeShown = ({ edge: { path, tip, isConditional, label } }: { edge: PlacedEdge }) => (
  <>
    <path class={isConditional ? 'edge conditional' : 'edge'} d={path}>
      {label !== '' && <title>{label}</title>}
    </path>
    <path class="tip" d={tip} />
  </>
);

const LETTERS = 32;

/** Runs stop before nodes of the graph itself alone. */
const mayStop = (id: string): boolean =>
  !id.includes(':') && id !== '__start__' && id !== '__end__';

function NodeShown({
  node: { id, label, x, y, width, height },
  session,
}: {
  node: PlacedNode;
  session: ChatSession;
}) {
  const { mayAct } = useStudio();
  const { value: stops } = session.stops;
  const work = session.live.value.nodes.get(id);
  const isStop = stops.has(id);
  const toggle = (): void => {
    session.stops.value = new Set(isStop ? [...stops].filter((one) => one !== id) : [...stops, id]);
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    toggle();
  };
  const shape = (
    <>
      <rect x={x} y={y} width={width} height={height} rx={8} />
      <text x={x + width / 2} y={y + height / 2 + 5} text-anchor="middle">
        {label.slice(0, LETTERS)}
      </text>
      {isStop && <circle cx={x + 4} cy={y + 4} r={5} />}
    </>
  );
  const isNext = session.next.value.includes(id) && !session.isBusy.value;
  const nextState = session.live.value.error === undefined ? 'next' : 'failed';
  const kind = `node ${isNext ? nextState : getNodeState(work)}`;
  if (!mayAct || !mayStop(id))
    return (
      <g class={kind} data-node={id}>
        {shape}
      </g>
    );
  return (
    <g
      class={kind}
      data-node={id}
      role="button"
      tabIndex={0}
      aria-pressed={isStop}
      aria-label={`Stop before ${id}`}
      onClick={toggle}
      onKeyDown={press}
    >
      <title>{isStop ? 'Runs stop before it' : 'Stop before it'}</title>
      {shape}
    </g>
  );
}

function getNodeState(work: NodeWork | undefined): string {
  if (work === undefined) return 'untouched';
  if (work.running > 0) return 'running';
  return work.failed ? 'failed' : 'ended';
}
