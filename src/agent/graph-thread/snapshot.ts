import type { CheckpointRef, ThreadState } from '../../schema/wire/wall/graph-answers.ts';
import type { Snapshot } from './load.ts';

/**
 * Returns the interrupts that each task waits for: task id -> its interrupts. A task that was answered alone, while
 * another one of its step waits, keeps its interrupts beside its result, and waits for nothing.
 */
export function groupInterrupts({
  tasks,
}: {
  tasks: Snapshot['tasks'][number][];
}): Record<string, unknown[]> {
  const waiting = tasks.filter(
    ({ interrupts, result }) =>
      (interrupts ?? []).length > 0 && (result === undefined || result === null),
  );
  return Object.fromEntries(waiting.map((task) => [task.id, task.interrupts ?? []]));
}

/** Returns LangGraph's snapshot as the interface's ThreadState. */
export function toThreadState(state: Snapshot): ThreadState {
  const checkpoint = toCheckpointRef(state.config?.configurable);
  const parent = toCheckpointRef(state.parentConfig?.configurable);
  return {
    values: state.values ?? {},
    next: state.next,
    tasks: state.tasks.map((task) => ({
      id: task.id,
      name: task.name,
      path: task.path ?? [],
      error: task.error ?? null,
      interrupts: task.interrupts ?? [],
      checkpoint: toCheckpointRef((task.state as Snapshot['config'] | undefined)?.configurable),
      state: isSnapshot(task.state) ? toThreadState(task.state) : null,
      result: task.result ?? null,
    })),
    metadata: state.metadata ?? {},
    created_at: state.createdAt ?? null,
    checkpoint,
    parent_checkpoint: parent,
    interrupts: state.tasks.flatMap((task) => task.interrupts ?? []),
    checkpoint_id: checkpoint?.['checkpoint_id'] ?? null,
    parent_checkpoint_id: parent?.['checkpoint_id'] ?? null,
  };
}

const isSnapshot = (state: unknown): state is Snapshot =>
  Array.isArray((state as Snapshot | undefined)?.tasks);

/**
 * Returns the checkpoint that a configuration names; null when it names none. A subgraph that has not begun has a
 * namespace, but no id yet.
 */
export function toCheckpointRef(
  configurable: Record<string, unknown> | undefined,
): CheckpointRef | null {
  if (
    configurable?.['checkpoint_id'] === undefined &&
    configurable?.['checkpoint_ns'] === undefined
  )
    return null;
  if (configurable['checkpoint_id'] === undefined && configurable['checkpoint_ns'] === '')
    return null;
  const { thread_id, checkpoint_ns = '', checkpoint_id, checkpoint_map } = configurable;
  return {
    thread_id,
    checkpoint_ns,
    ...(checkpoint_id !== undefined && { checkpoint_id }),
    ...(checkpoint_map !== undefined && { checkpoint_map }),
  };
}
