/** What a page gets back: JSON, or the events of a stream. */
export type PageAnswer = {
  status: number;
  body: unknown;
  events: { event: string; data: unknown }[];
};

/**
 * One call of a page, as its browser sends it. `{name}` in path and body stands for what an earlier call kept. All that
 * a call names of the answer must be there.
 */
export type PageCall = {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: unknown;
  /** The page leaves once it has seen the first token, because it is reloaded or somebody stops the run. */
  leaves?: true;
  /** The answer becomes right a moment later, so the page asks again. */
  settles?: true;
  status?: number;
  /** What the body, or a stream's last values, must contain. */
  holds?: unknown;
  /** The texts of the messages in the last values of a stream, or in the newest state of a history. */
  says?: string[];
  /** The kinds of events in a stream, each once. */
  events?: string[];
  /** What later calls need. */
  keeps?: (answer: PageAnswer) => Record<string, string>;
};

type State = {
  values: { messages: unknown[] };
  parent_checkpoint: { checkpoint_id: string } | null;
};

/** The checkpoint before the state in which a history first had `count` messages. */
export function checkpointBefore(history: unknown, count: number): string {
  const states = (history as State[]).filter(({ values }) => values.messages?.length === count);
  return states.at(-1)!.parent_checkpoint!.checkpoint_id;
}
