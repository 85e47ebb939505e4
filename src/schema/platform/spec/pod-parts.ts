import { Type, type Static, type TSchema } from 'typebox';
import { buildClosedSchema, buildMapSchema, buildOptionalNullable } from '../../types.ts';

/*
 * The parts of a pod that users write as Kubernetes has them. They are described field by field: a part that is free in
 * form could be nested as deep and be as large as etcd takes it, and CEL rules are blind inside it.
 */

const buildTextSchema = (maxLength = 1024) => buildOptionalNullable(Type.String({ maxLength }));
const flag = buildOptionalNullable(Type.Boolean());
const integer = buildOptionalNullable(Type.Integer());
const mode = buildOptionalNullable(Type.Integer({ minimum: 0, maximum: 0o777 }));
const buildTextMapSchema = (maxProperties: number) =>
  buildOptionalNullable(buildMapSchema(Type.String({ maxLength: 4096 }), { maxProperties }));
const buildTextsSchema = (maxItems: number) =>
  buildOptionalNullable(Type.Array(Type.String({ maxLength: 256 }), { maxItems }));
const buildPartsSchema = <S extends TSchema>(items: S, maxItems: number) =>
  buildOptionalNullable(Type.Array(items, { maxItems }));
const buildObjectSchema = <P extends Record<string, TSchema>>(properties: P) =>
  buildClosedSchema(properties);

/** A quantity such as `1Gi`, or a number. */
const quantity = buildOptionalNullable(
  Type.Unsafe<string | number>({
    type: ['integer', 'string'],
    'x-kubernetes-int-or-string': true,
    maxLength: 64,
  }),
);

const items = buildPartsSchema(
  buildObjectSchema({
    key: Type.String({ maxLength: 253 }),
    path: Type.String({ maxLength: 1024 }),
    mode,
  }),
  128,
);
const FieldRef = buildObjectSchema({
  apiVersion: buildTextSchema(64),
  fieldPath: Type.String({ maxLength: 1024 }),
});
const ResourceFieldRef = buildObjectSchema({
  containerName: buildTextSchema(253),
  resource: Type.String({ maxLength: 253 }),
  divisor: quantity,
});
const downwardItems = buildPartsSchema(
  buildObjectSchema({
    path: Type.String({ maxLength: 1024 }),
    fieldRef: buildOptionalNullable(FieldRef),
    resourceFieldRef: buildOptionalNullable(ResourceFieldRef),
    mode,
  }),
  128,
);
const KeyRef = buildObjectSchema({
  name: buildTextSchema(253),
  key: Type.String({ maxLength: 253 }),
  optional: flag,
});
const named = { name: buildTextSchema(253), optional: flag };

export const LabelSelector = buildObjectSchema({
  matchLabels: buildTextMapSchema(32),
  matchExpressions: buildPartsSchema(
    buildObjectSchema({
      key: Type.String({ maxLength: 317 }),
      operator: Type.String({ maxLength: 64 }),
      values: buildTextsSchema(32),
    }),
    32,
  ),
});

const ProjectedSource = buildObjectSchema({
  configMap: buildOptionalNullable(buildObjectSchema({ ...named, items })),
  secret: buildOptionalNullable(buildObjectSchema({ ...named, items })),
  downwardAPI: buildOptionalNullable(buildObjectSchema({ items: downwardItems })),
  serviceAccountToken: buildOptionalNullable(
    buildObjectSchema({
      audience: buildTextSchema(),
      expirationSeconds: integer,
      path: Type.String({ maxLength: 1024 }),
    }),
  ),
  clusterTrustBundle: buildOptionalNullable(
    buildObjectSchema({
      ...named,
      signerName: buildTextSchema(),
      labelSelector: buildOptionalNullable(LabelSelector),
      path: Type.String({ maxLength: 1024 }),
    }),
  ),
  podCertificate: buildOptionalNullable(
    buildObjectSchema({
      signerName: buildTextSchema(),
      keyType: buildTextSchema(64),
      maxExpirationSeconds: integer,
      credentialBundlePath: buildTextSchema(),
      keyPath: buildTextSchema(),
      certificateChainPath: buildTextSchema(),
      userAnnotations: buildTextMapSchema(32),
    }),
  ),
});

export const VOLUME_SOURCES = {
  configMap: buildOptionalNullable(buildObjectSchema({ ...named, items, defaultMode: mode })),
  secret: buildOptionalNullable(
    buildObjectSchema({
      secretName: buildTextSchema(253),
      optional: flag,
      items,
      defaultMode: mode,
    }),
  ),
  emptyDir: buildOptionalNullable(
    buildObjectSchema({ medium: buildTextSchema(64), sizeLimit: quantity }),
  ),
  persistentVolumeClaim: buildOptionalNullable(
    buildObjectSchema({ claimName: Type.String({ maxLength: 253 }), readOnly: flag }),
  ),
  nfs: buildOptionalNullable(
    buildObjectSchema({
      server: Type.String({ maxLength: 253 }),
      path: Type.String({ maxLength: 4096 }),
      readOnly: flag,
    }),
  ),
  projected: buildOptionalNullable(
    buildObjectSchema({ sources: buildPartsSchema(ProjectedSource, 32), defaultMode: mode }),
  ),
  downwardAPI: buildOptionalNullable(
    buildObjectSchema({ items: downwardItems, defaultMode: mode }),
  ),
  csi: buildOptionalNullable(
    buildObjectSchema({
      driver: Type.String({ maxLength: 253 }),
      readOnly: flag,
      fsType: buildTextSchema(64),
      volumeAttributes: buildTextMapSchema(64),
      nodePublishSecretRef: buildOptionalNullable(
        buildObjectSchema({ name: buildTextSchema(253) }),
      ),
    }),
  ),
};

/** Where the value of an environment variable comes from. */
export const EnvVarSource = buildObjectSchema({
  fieldRef: buildOptionalNullable(FieldRef),
  resourceFieldRef: buildOptionalNullable(ResourceFieldRef),
  configMapKeyRef: buildOptionalNullable(KeyRef),
  secretKeyRef: buildOptionalNullable(KeyRef),
  fileKeyRef: buildOptionalNullable(
    buildObjectSchema({
      volumeName: Type.String({ maxLength: 253 }),
      path: Type.String({ maxLength: 1024 }),
      key: Type.String({ maxLength: 253 }),
      optional: flag,
    }),
  ),
});

/** Whose keys become environment variables. */
export const EnvFromSource = buildObjectSchema({
  prefix: buildTextSchema(253),
  configMapRef: buildOptionalNullable(buildObjectSchema(named)),
  secretRef: buildOptionalNullable(buildObjectSchema(named)),
});

const profile = buildOptionalNullable(
  buildObjectSchema({ type: Type.String({ maxLength: 64 }), localhostProfile: buildTextSchema() }),
);

export const SecurityContext = buildObjectSchema({
  allowPrivilegeEscalation: flag,
  appArmorProfile: profile,
  capabilities: buildOptionalNullable(
    buildObjectSchema({ add: buildTextsSchema(64), drop: buildTextsSchema(64) }),
  ),
  privileged: flag,
  procMount: buildTextSchema(64),
  readOnlyRootFilesystem: flag,
  runAsGroup: integer,
  runAsNonRoot: flag,
  runAsUser: integer,
  seLinuxOptions: buildOptionalNullable(
    buildObjectSchema({
      level: buildTextSchema(256),
      role: buildTextSchema(256),
      type: buildTextSchema(256),
      user: buildTextSchema(256),
    }),
  ),
  seccompProfile: profile,
  windowsOptions: buildOptionalNullable(
    buildObjectSchema({
      gmsaCredentialSpec: buildTextSchema(8192),
      gmsaCredentialSpecName: buildTextSchema(253),
      hostProcess: flag,
      runAsUserName: buildTextSchema(256),
    }),
  ),
});
export type SecurityContext = Static<typeof SecurityContext>;
