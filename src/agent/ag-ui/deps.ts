import type { Thread } from '../../schema/agent/thread.ts';
import type { AgentDeps } from '../parts/deps.ts';
import type { CancelDeps } from '../runs/executing/cancel.ts';
import type { CreateDeps } from '../runs/making/create.ts';

export type AgUiDeps = CreateDeps & CancelDeps & AgentDeps;

/** A thread as a request names it, and as it is; `thread` is undefined where it is not there yet. */
export type NamedThread = { threadId: string; thread: Thread | undefined };
