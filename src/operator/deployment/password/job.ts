import type { OperatorSettings } from '../../../config/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/custom-resources.ts';
import { DEPLOYMENT, ownLabels, PASSWORD_TASK } from '../../../schema/labels.ts';
import { names } from '../../../schema/names.ts';
import { restrictedContainer, restrictedPod } from '../objects/database.ts';
import { ownedMetadata } from '../objects/metadata.ts';
import type { Credential } from './credentials.ts';
import type { Task } from './decide.ts';
import { loginOf, retireSql, setSql } from './sql.ts';

const PSQL = 'psql -X -q -A -t -v ON_ERROR_STOP=1';
/** A login that works already was set before a crash. */
const SCRIPTS: Record<Task, string> = {
  set: `${PSQL} "$NEXT" -c 'select 1' > /dev/null 2>&1 && exit 0
printf '%s' "$STATEMENTS" | ${PSQL} -1 -v verifier="$VERIFIER" "$FORMER"
exec ${PSQL} "$NEXT" -c 'select 1'`,
  retire: `printf '%s' "$STATEMENTS" | ${PSQL} -1 "$NEXT"`,
};
/** Tried until it ends well: a database that restarts meanwhile is daily life. */
const FOR_EVER = 2_147_483_647;

export type Given = { task: Task; from: Credential; to: Credential };

/** The pod that says one thing to the database: the operator itself connects to none (pure). */
export function passwordJob(deployment: DeploymentResource, { task, from, to }: Given, settings: OperatorSettings): KubeObject {
  const { name } = deployment.metadata;
  const job = names.passwordJob(name, task, to.number);
  const known = (variable: string, { secret }: Credential, key: string): object => ({
    name: variable,
    valueFrom: { secretKeyRef: { name: secret, key } },
  });
  const statements = task === 'set' ? setSql(loginOf(to.number)) : retireSql(loginOf(from.number));
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: ownedMetadata(deployment, 'password', job),
    spec: {
      backoffLimit: FOR_EVER,
      template: {
        metadata: { labels: ownLabels(name, 'password'), annotations: { [DEPLOYMENT]: name, [PASSWORD_TASK]: job } },
        spec: {
          ...restrictedPod(deployment),
          restartPolicy: 'OnFailure',
          containers: [
            {
              name: 'psql',
              image: settings.databaseImage,
              imagePullPolicy: settings.imagePullPolicy,
              command: ['/bin/sh', '-c', SCRIPTS[task]],
              env: [
                known('NEXT', to, 'uri'),
                ...(task === 'set' ? [known('FORMER', from, 'uri'), known('VERIFIER', to, 'verifier')] : []),
                { name: 'STATEMENTS', value: statements },
                { name: 'PGCONNECT_TIMEOUT', value: '10' },
              ],
              // psql alone takes a few megabytes.
              resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { cpu: '100m', memory: '64Mi' } },
              securityContext: restrictedContainer,
            },
          ],
        },
      },
    },
  };
}
