import type { TSchema } from 'typebox';
import { BackupRecord } from '../backup/backup-spec.ts';
import { COLUMNS, type Column } from './columns.ts';
import { DNS_LABEL } from '../../dns-label.ts';
import {
  DeploymentSpec,
  ListenerSpec,
  RevisionSpec,
  TracingProjectSpec,
} from './custom-resources.ts';
import {
  BackupResourceStatus,
  DeploymentResourceStatus,
  ListenerResourceStatus,
  RevisionResourceStatus,
} from './resource-statuses.ts';
import { GitIntegrationSpec } from '../source/git-integration.ts';
import { PLURALS } from '../objects/kind-names.ts';
import type { CelRule } from '../../types.ts';

/** The parts of a custom resource definition. */
export type CustomKind = {
  kind: string;
  plural: string;
  singular: string;
  shortNames: string[];
  spec: TSchema;
  status?: TSchema;
  columns: Column[];
  /** The fields of its scale subresource, which other scalers use. */
  scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath: string };
  /** Paths that `--field-selector` takes. */
  selectable?: string[];
  /** Rules on the whole object (`self.metadata.name`). */
  rules: CelRule[];
};

const labelName: CelRule = {
  rule: `self.metadata.name.size() <= 63 && self.metadata.name.matches('${DNS_LABEL}')`,
  message: 'metadata.name: must be a DNS label of at most 63 characters',
};

export const KINDS: readonly CustomKind[] = [
  {
    kind: 'Deployment',
    plural: PLURALS.Deployment,
    singular: 'deployment',
    shortNames: ['gxd'],
    spec: DeploymentSpec,
    status: DeploymentResourceStatus,
    rules: [labelName],
    columns: COLUMNS.Deployment,
    scale: {
      specReplicasPath: '.spec.queueReplicas',
      statusReplicasPath: '.status.queueReplicas',
      labelSelectorPath: '.status.queueSelector',
    },
    selectable: ['.status.phase', '.status.reason'],
  },
  {
    kind: 'Revision',
    plural: PLURALS.Revision,
    singular: 'revision',
    shortNames: ['gxr'],
    spec: RevisionSpec,
    status: RevisionResourceStatus,
    rules: [],
    columns: COLUMNS.Revision,
    selectable: ['.spec.deployment', '.status.phase', '.status.reason'],
  },
  {
    kind: 'Backup',
    plural: PLURALS.Backup,
    singular: 'backup',
    shortNames: ['gxb'],
    spec: BackupRecord,
    status: BackupResourceStatus,
    rules: [],
    columns: COLUMNS.Backup,
    selectable: ['.spec.deployment', '.status.phase'],
  },
  {
    kind: 'Listener',
    plural: PLURALS.Listener,
    singular: 'listener',
    shortNames: ['gxl'],
    spec: ListenerSpec,
    status: ListenerResourceStatus,
    rules: [],
    columns: COLUMNS.Listener,
  },
  {
    kind: 'TracingProject',
    plural: PLURALS.TracingProject,
    singular: 'tracingproject',
    shortNames: ['gxt'],
    spec: TracingProjectSpec,
    rules: [],
    columns: COLUMNS.TracingProject,
  },
  {
    kind: 'GitIntegration',
    plural: PLURALS.GitIntegration,
    singular: 'gitintegration',
    shortNames: ['gxg'],
    spec: GitIntegrationSpec,
    rules: [],
    columns: COLUMNS.GitIntegration,
  },
];
