import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { GitPlaces } from '../../git/places.ts';
import type { Kube } from '../../kube/kube.ts';
import type { TimeSpan } from '../../kube/lease.ts';
import type { BranchView } from '../branches/branch-look.ts';
import type { BuildLooksView } from '../branches/build-looks.ts';
import type { KindTable } from '../kinds/row.ts';
import type { WorkView } from '../scale/work-follower.ts';
import type { Caches } from './caches.ts';
import type { Limiter } from '../../http/limits/limiter.ts';
import type { BuildTurns } from './build-turns.ts';
import type { MissingKinds } from './missing-kinds.ts';
import type { PortKeeper } from './port-keeper.ts';
import type { RouteParents } from './route-parents.ts';
import type { TakenTurns } from './taken-turns.ts';
import type { Writer } from '../kernel/writer.ts';

/** The dependencies of reconcilers. They read caches and write through the writer. */
export type OperatorDeps = {
  kube: Kube;
  writer: Writer;
  caches: Caches;
  /** The kinds of objects that it works with. */
  table: KindTable;
  /** The optional kinds that the cluster does not have. */
  missing: MissingKinds;
  routeParents: RouteParents;
  settings: OperatorSettings;
  branches: BranchView;
  buildLooks: BuildLooksView;
  /** Where requests to git hosts may go. */
  gitPlaces: GitPlaces;
  /** Builds begin in turn, so that each counts those before it. */
  buildTurns: BuildTurns;
  /** Backups begin in turn, so that each counts those before it. */
  backupTurns: Limiter;
  /** The databases that may restart now. */
  restartTurns: TakenTurns;
  ports: PortKeeper;
  /** Returns when no operator worked. */
  absences: () => TimeSpan[];
  work: WorkView;
};
