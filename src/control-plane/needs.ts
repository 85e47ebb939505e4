import type { ControlPlaneConfig } from '../config/control-plane.ts';
import { routeFor } from '../http/route.ts';
import type { Kube } from '../kube/kube.ts';
import type { Log } from '../log.ts';
import type { SecretValues } from './secrets.ts';
import type { Stored } from './stored.ts';

/** What the control plane's handlers work with. `stopping` ends what would go on for ever. */
export type Needs = {
  config: ControlPlaneConfig;
  kube: Kube;
  stored: Stored;
  secrets: SecretValues;
  log: Log;
  now: () => Date;
  stopping: AbortSignal;
};

export type Role = 'read' | 'write';

/** Who calls: the tenant and right of the key that was sent. */
export type Caller = { tenantId: string; role: Role; keyName: string };

export const route = routeFor<Caller>();
