import { Type, type Static } from 'typebox';
import { RunError } from '../../agent/run.ts';
import { buildOptionalFields } from '../../types.ts';
import { MAX_CALL_COUNT, MAX_CALL_NAME } from './model-call.ts';

/* The question whether a model may be called, which a thread asks of the server for a run that budgets bound. */

const Count = Type.Integer({ minimum: 0, maximum: MAX_CALL_COUNT });
const Name = Type.String({ maxLength: MAX_CALL_NAME });

/** A call that a graph is about to make. */
export const AskedCall = Type.Object({
  /** The id under which `usage` reports its end. */
  id: Name,
  /** Characters of its prompt. */
  characters: Count,
  ...buildOptionalFields({
    provider: Name,
    model: Name,
    /** The most tokens that the model may answer with; absent where nobody has set a limit. */
    most_output: Count,
  }),
});
export type AskedCall = Static<typeof AskedCall>;

/** Why a call may not begin: the graph stops with a question, by LangGraph's own interrupt, or fails. */
export const CallRefusal = Type.Object({
  ...buildOptionalFields({
    question: Type.Object({ id: Type.String(), value: Type.Unknown() }),
    error: RunError,
  }),
});
export type CallRefusal = Static<typeof CallRefusal>;
