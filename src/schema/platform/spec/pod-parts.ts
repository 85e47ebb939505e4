import { Type, type Static, type TSchema } from 'typebox';
import { buildClosedSchema, buildMapSchema, buildNullableSchema } from '../../types.ts';

/*
 * The parts of a pod that users write as Kubernetes has them. They are described field by field: a part that is free in
 * form could be nested as deep and be as large as etcd takes it, and CEL rules are blind inside it.
 */

const buildOptionalField = <S extends TSchema>(schema: S) =>
  Type.Optional(buildNullableSchema(schema));
const buildTextSchema = (maxLength = 1024) => buildOptionalField(Type.String({ maxLength }));
const flag = buildOptionalField(Type.Boolean());
const integer = buildOptionalField(Type.Integer());
const mode = buildOptionalField(Type.Integer({ minimum: 0, maximum: 0o777 }));
const buildTextMapSchema = (maxProperties: number) =>
  buildOptionalField(buildMapSchema(Type.String({ maxLength: 4096 }), { maxProperties }));
const buildTextsSchema = (maxItems: number) =>
  buildOptionalField(Type.Array(Type.String({ maxLength: 256 }), { maxItems }));
const buildPartsSchema = <S extends TSchema>(items: S, maxItems: number) =>
  buildOptionalField(Type.Array(items, { maxItems }));
const buildObjectSchema = <P extends Record<string, TSchema>>(properties: P) =>
  buildClosedSchema(properties);

/** A quantity such as `1Gi`, or a number. */
const quantity = buildOptionalField(
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
    fieldRef: buildOptionalField(FieldRef),
    resourceFieldRef: buildOptionalField(ResourceFieldRef),
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
  configMap: buildOptionalField(buildObjectSchema({ ...named, items })),
  secret: buildOptionalField(buildObjectSchema({ ...named, items })),
  downwardAPI: buildOptionalField(buildObjectSchema({ items: downwardItems })),
  serviceAccountToken: buildOptionalField(
    buildObjectSchema({
      audience: buildTextSchema(),
      expirationSeconds: integer,
      path: Type.String({ maxLength: 1024 }),
    }),
  ),
  clusterTrustBundle: buildOptionalField(
    buildObjectSchema({
      ...named,
      signerName: buildTextSchema(),
      labelSelector: buildOptionalField(LabelSelector),
      path: Type.String({ maxLength: 1024 }),
    }),
  ),
  podCertificate: buildOptionalField(
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
  configMap: buildOptionalField(buildObjectSchema({ ...named, items, defaultMode: mode })),
  secret: buildOptionalField(
    buildObjectSchema({
      secretName: buildTextSchema(253),
      optional: flag,
      items,
      defaultMode: mode,
    }),
  ),
  emptyDir: buildOptionalField(
    buildObjectSchema({ medium: buildTextSchema(64), sizeLimit: quantity }),
  ),
  persistentVolumeClaim: buildOptionalField(
    buildObjectSchema({ claimName: Type.String({ maxLength: 253 }), readOnly: flag }),
  ),
  nfs: buildOptionalField(
    buildObjectSchema({
      server: Type.String({ maxLength: 253 }),
      path: Type.String({ maxLength: 4096 }),
      readOnly: flag,
    }),
  ),
  projected: buildOptionalField(
    buildObjectSchema({ sources: buildPartsSchema(ProjectedSource, 32), defaultMode: mode }),
  ),
  downwardAPI: buildOptionalField(buildObjectSchema({ items: downwardItems, defaultMode: mode })),
  csi: buildOptionalField(
    buildObjectSchema({
      driver: Type.String({ maxLength: 253 }),
      readOnly: flag,
      fsType: buildTextSchema(64),
      volumeAttributes: buildTextMapSchema(64),
      nodePublishSecretRef: buildOptionalField(buildObjectSchema({ name: buildTextSchema(253) })),
    }),
  ),
};

/** Where the value of an environment variable comes from. */
export const EnvVarSource = buildObjectSchema({
  fieldRef: buildOptionalField(FieldRef),
  resourceFieldRef: buildOptionalField(ResourceFieldRef),
  configMapKeyRef: buildOptionalField(KeyRef),
  secretKeyRef: buildOptionalField(KeyRef),
  fileKeyRef: buildOptionalField(
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
  configMapRef: buildOptionalField(buildObjectSchema(named)),
  secretRef: buildOptionalField(buildObjectSchema(named)),
});

const profile = buildOptionalField(
  buildObjectSchema({ type: Type.String({ maxLength: 64 }), localhostProfile: buildTextSchema() }),
);

export const SecurityContext = buildObjectSchema({
  allowPrivilegeEscalation: flag,
  appArmorProfile: profile,
  capabilities: buildOptionalField(
    buildObjectSchema({ add: buildTextsSchema(64), drop: buildTextsSchema(64) }),
  ),
  privileged: flag,
  procMount: buildTextSchema(64),
  readOnlyRootFilesystem: flag,
  runAsGroup: integer,
  runAsNonRoot: flag,
  runAsUser: integer,
  seLinuxOptions: buildOptionalField(
    buildObjectSchema({
      level: buildTextSchema(256),
      role: buildTextSchema(256),
      type: buildTextSchema(256),
      user: buildTextSchema(256),
    }),
  ),
  seccompProfile: profile,
  windowsOptions: buildOptionalField(
    buildObjectSchema({
      gmsaCredentialSpec: buildTextSchema(8192),
      gmsaCredentialSpecName: buildTextSchema(253),
      hostProcess: flag,
      runAsUserName: buildTextSchema(256),
    }),
  ),
});
export type SecurityContext = Static<typeof SecurityContext>;
