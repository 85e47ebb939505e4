import type { Task } from '@a2a-js/sdk';
import type { RunStatus } from '../../schema/agent/run.ts';
import type { ReportedEnd, ReportedPush } from '../db/webhooks/webhooks.ts';
import { loadA2a } from './package.ts';
import { buildTaskForm } from './task-form.ts';
import { buildTaskId } from './tasks.ts';

/* The content of push notifications: the whole task, as it is when a run of it has ended. */

/** The header in which both official packages send a client's token. */
const TOKEN = 'x-a2a-notification-token';

/** Returns the body in the words of the configuration's version, and the headers that go with it. */
export async function buildNotification(
  end: ReportedEnd,
  { config, questions, task }: ReportedPush,
): Promise<{ body: string; headers: Record<string, string> }> {
  const a2a = await loadA2a();
  const form = a2a.Task.fromJSON(buildEndForm(end, { questions, task }));
  const Serializer =
    config.version === '0.3' ? a2a.V03PushNotificationSerializer : a2a.V1PushNotificationSerializer;
  const { body, contentType } = new Serializer().serialize(
    { payload: { $case: 'task', value: form } },
    undefined as Task | undefined,
  );
  return {
    body,
    headers: {
      'content-type': contentType,
      ...(config.token !== '' && { [TOKEN]: config.token }),
      ...(config.authentication && {
        authorization: `${config.authentication.scheme} ${config.authentication.credentials}`,
      }),
    },
  };
}

function buildEndForm(
  end: ReportedEnd,
  { questions, task }: Pick<ReportedPush, 'questions' | 'task'>,
): object {
  const { run_id, thread_id, error, values } = end;
  // A run that was rolled back leaves nothing, as one that was stopped before it began.
  const status = end.status === 'rollback' ? 'interrupted' : (end.status as RunStatus);
  const waits = questions !== null;
  const run = {
    run_id,
    thread_id,
    status,
    updated_at: end.run_ended_at,
    error,
    waits,
    interrupts: questions ?? {},
  };
  return buildTaskForm({
    id: buildTaskId(thread_id, task),
    run,
    state: status === 'success' && !waits ? values : undefined,
  });
}
