import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { TimeSpan } from '../../kube/lease.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import type {
  AbortedRevision,
  CandidateRevision,
  DrainingRevision,
} from '../../schema/platform/rollout/rollout-spec.ts';
import type { ServerFacts } from '../../schema/wire/work-report.ts';
import type { DatabaseAddress } from '../database/address.ts';
import type { DatabaseAnswer } from '../database/database.ts';
import type { RolloutOrder } from '../rollout/revisions.ts';
import type { QueueState } from '../scale/queue-scale.ts';
import type { BuildWorld } from './build/observe.ts';
import type { Environment } from './environment.ts';
import type { RepeatedImage } from './image.ts';

/** All that exists for a revision, by the caches and by reads of its own. */
export type RevisionWorld = DatabaseAnswer & {
  deployment: DeploymentResource | undefined;
  /** True if another deployment now has the name of the one that it belonged to. */
  isForeign: boolean;
  order: RolloutOrder;
  /** True if it is the one to serve among its siblings, whatever the deployment's status says now. */
  isPick: boolean;
  /** True if the Service sends clients to it. */
  hasTraffic: boolean;
  /** Where its pods read the database's address. Undefined until the deployment's status has it. */
  address: DatabaseAddress | undefined;
  environment: Environment;
  /** The exact image that a rollback deploys again. */
  repeated: RepeatedImage | undefined;
  /** Missing Secrets that volumes of its pods wait for. */
  missing: string[];
  /** Its build, which is read only while there is no image yet and it may roll out. */
  build: BuildWorld | undefined;
  api: KubeObject | undefined;
  queue: KubeObject | undefined;
  queueState?: QueueState | undefined;
  /** True if it is tried out with a share of the threads before it serves. */
  isTriedOut?: boolean;
  /** Why it can't be, although the deployment asks for it. */
  shareProblem?: string | undefined;
  /** How far it is, once it is ready. */
  candidate?: CandidateRevision | undefined;
  /** Why it was given up while it was tried out. */
  aborted?: AbortedRevision | undefined;
  /** The work that it keeps although another one serves. */
  draining?: DrainingRevision | undefined;
  /** The number of its queue pods that this asks for. */
  drainPods?: number | undefined;
  /** The facts of its server that its pods have reported lately. */
  server?: ServerFacts | undefined;
  apiPods: KubeObject[];
  queuePods: KubeObject[];
  /** The api workload of the revision that serves, if that is another one whose load asked for more than its least. */
  loadedApi?: KubeObject | undefined;
  /** When no operator worked, so that nothing could progress. */
  absences: TimeSpan[];
  now: Date;
};

export type Situation = {
  revision: RevisionResource;
  world: RevisionWorld;
  settings: OperatorSettings;
};
