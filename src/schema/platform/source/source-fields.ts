import { type CelRule } from '../../types.ts';

/*
 * Which field belongs to which source, and which may never change: one table, read by the custom resource's CEL rules
 * and by the REST answers, so that both doors refuse the same things.
 */

export type SourceField = {
  /** Path in the REST body. */
  rest: string;
  /** Path below `spec` of the custom resource; undefined where the resource has no such field. */
  resource?: string;
  source: 'git' | 'external_container';
  required?: boolean;
  immutable?: boolean;
};

export const SOURCE_FIELDS: readonly SourceField[] = [
  {
    rest: 'source_config.integration_id',
    resource: 'sourceConfig.integrationId',
    source: 'git',
    required: true,
    immutable: true,
  },
  {
    rest: 'source_config.repo_url',
    resource: 'sourceConfig.repoUrl',
    source: 'git',
    required: true,
    immutable: true,
  },
  {
    rest: 'source_config.deployment_type',
    resource: 'sourceConfig.deploymentType',
    source: 'git',
    immutable: true,
  },
  { rest: 'source_config.build_on_push', resource: 'sourceConfig.buildOnPush', source: 'git' },
  { rest: 'source_config.install_command', resource: 'sourceConfig.installCommand', source: 'git' },
  { rest: 'source_config.build_command', resource: 'sourceConfig.buildCommand', source: 'git' },
  {
    rest: 'source_config.custom_url',
    resource: 'sourceConfig.customUrl',
    source: 'external_container',
  },
  {
    rest: 'source_config.resource_spec',
    resource: 'template.resourceSpec',
    source: 'external_container',
  },
  {
    rest: 'source_config.listener_id',
    resource: 'sourceConfig.listener',
    source: 'external_container',
    immutable: true,
  },
  { rest: 'source_config.listener_config', source: 'external_container' },
  {
    rest: 'source_revision_config.repo_ref',
    resource: 'template.sourceRevisionConfig.repoRef',
    source: 'git',
    required: true,
  },
  {
    rest: 'source_revision_config.gx_config_path',
    resource: 'template.sourceRevisionConfig.gxConfigPath',
    source: 'git',
    required: true,
  },
  {
    rest: 'source_revision_config.image_uri',
    resource: 'template.sourceRevisionConfig.imageUri',
    source: 'external_container',
    required: true,
  },
];

export const TAG_PREFIX = 'refs/tags/';

/** Steps of paths that every spec has. */
const ALWAYS = ['template'];

/**
 * Returns CEL that tests whether the path below `root` is present. It tests every optional step, because `has` needs
 * the parent.
 */
export function buildCelHas(root: string, path: string): string {
  const steps = path.split('.');
  const tested = steps
    .map((_, index) => steps.slice(0, index + 1).join('.'))
    .filter((step) => !ALWAYS.includes(step));
  return tested.map((step) => `has(${root}.${step})`).join(' && ');
}

/**
 * Returns the rules by which a field belongs to one source, and is required there. The API server runs every rule at
 * each write, even of a status, and an access costs more the more properties an object has. So the check that ends a
 * rule early comes first.
 */
export function buildSourceRules(): CelRule[] {
  return SOURCE_FIELDS.flatMap(({ resource, source, required }) => {
    if (resource === undefined) return [];
    const present = buildCelHas('self', resource);
    const only: CelRule = {
      rule: `!(${present}) || self.source == '${source}'`,
      message: `${resource}: only for source ${source}`,
    };
    const needed: CelRule = {
      rule: `self.source != '${source}' || (${present})`,
      message: `${resource}: required for source ${source}`,
    };
    return required === true ? [only, needed] : [only];
  });
}

/**
 * Returns the rule of a field that never changes. A rule on the optional field itself would be skipped while the field
 * is absent, so removing the field and setting it again would evade it. Therefore the rule stands on the parent and
 * compares presence first.
 */
export function buildImmutableRule(path: string): CelRule {
  const [before, after] = [buildCelHas('oldSelf', path), buildCelHas('self', path)];
  return {
    rule: `(${after}) ? ${before} && self.${path} == oldSelf.${path} : !(${before})`,
    message: `${path}: can't be changed`,
  };
}

/** Returns the rule of a field that is present from the beginning or never. Its value may change. */
export const buildPresenceRule = (path: string, sentence: string): CelRule => ({
  rule: `(${buildCelHas('oldSelf', path)}) == (${buildCelHas('self', path)})`,
  message: `${path}: can't be added or removed: ${sentence}`,
});

export function buildImmutableRules(): CelRule[] {
  return SOURCE_FIELDS.filter(
    (field) => field.immutable === true && field.resource !== undefined,
  ).map((field) => buildImmutableRule(field.resource as string));
}

export const tagRule: CelRule = {
  rule: `!(${buildCelHas('self', 'sourceConfig.buildOnPush')} && self.sourceConfig.buildOnPush && ${buildCelHas('self', 'template.sourceRevisionConfig.repoRef')} && self.template.sourceRevisionConfig.repoRef.startsWith('${TAG_PREFIX}'))`,
  message: 'sourceConfig.buildOnPush: must be false while repoRef is a tag',
};
