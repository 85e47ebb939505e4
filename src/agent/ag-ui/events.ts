import type { Json } from '../../schema/json.ts';

/* The events of AG-UI that a run ends in. */

export type AgUiEvent = { type: string } & Json;

/** Returns the event as one of an agent within the agent; without an owner, as one of the agent itself. */
export const addEventOwner = (event: AgUiEvent, owner: string | undefined): AgUiEvent =>
  owner === undefined ? event : { ...event, subagentRunId: owner };

/** Why a run ended, as its row says. */
export type RunOutcome =
  | { type: 'success' }
  | { type: 'interrupt'; interrupts: Json[] }
  | { type: 'cancelled' }
  | { type: 'error'; message: string; code: string };
