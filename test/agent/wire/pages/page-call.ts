/** What a page gets back: JSON, or the events of a stream. */
export type PageAnswer = { status: number; body: unknown; events: { event: string; data: unknown }[] };

/**
 * One call of a page, as its browser sends it. `{name}` in path and body is what an earlier call kept. Everything that
 * is named of the answer is expected.
 */
export type PageCall = {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: unknown;
  /** The page leaves once it has seen the first token: it is reloaded, or somebody stops the run. */
  leaves?: true;
  /** What is expected comes true a moment later, and the page asks again. */
  settles?: true;
  status?: number;
  /** What the body holds, or of a stream the last values. */
  holds?: unknown;
  /** Texts of the messages: in the last values of a stream, or in the newest state of a history. */
  says?: string[];
  /** Kinds of events that a stream has, each once. */
  events?: string[];
  /** What later calls need. */
  keeps?: (answer: PageAnswer) => Record<string, string>;
};

type State = { values: { messages: unknown[] }; parent_checkpoint: { checkpoint_id: string } | null };

/** The checkpoint before the state in which a history's messages became as many as `count`. */
export function checkpointBefore(history: unknown, count: number): string {
  const states = (history as State[]).filter(({ values }) => values.messages?.length === count);
  return states.at(-1)!.parent_checkpoint!.checkpoint_id;
}
