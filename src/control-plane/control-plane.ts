import type { ControlPlaneConfig } from '../config/platform/control-plane.ts';
import type { GitPlaces } from '../git/places.ts';
import type { CountedKube } from '../kube/kube.ts';
import type { Log } from '../log.ts';
import type { ListenerLock } from './listener-lock.ts';
import type { SecretValues } from './secrets.ts';
import type { StoredIntegrations } from './stored/integrations.ts';
import type { Overview } from './stored/overview.ts';
import type { Stored } from './stored/stored.ts';

/** The parts that the handlers of the control plane work with. */
export type ControlPlane = {
  config: ControlPlaneConfig;
  kube: CountedKube;
  /** The same for the logs of pods, so that nothing else waits for them. */
  logs: CountedKube;
  stored: Stored;
  overview: Overview;
  integrations: StoredIntegrations;
  /** Where requests to git hosts may go. */
  gitPlaces: GitPlaces;
  secrets: SecretValues;
  listenerLock: ListenerLock;
  log: Log;
  now: () => Date;
  /** Aborted when the process stops, to end work that would otherwise never end. */
  stopping: AbortSignal;
};
