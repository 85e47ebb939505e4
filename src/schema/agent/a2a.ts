import { Type, type TObject, type TSchema } from 'typebox';
import { buildAnySchema, buildJsonObjectSchema } from './agent-types.ts';
import { buildDateTimeSchema, buildNullableSchema, buildEnumSchema } from '../types.ts';

/* Requests of A2A (https://a2a-protocol.org), as far as this server reads them: by method, in the words of both versions. */

const Id = Type.String({ minLength: 1, maxLength: 200 });
const OptionalId = Type.Optional(buildNullableSchema(Type.String({ maxLength: 200 })));
const OptionalObject = Type.Optional(buildNullableSchema(buildJsonObjectSchema('Free.')));
const HistoryLength = Type.Optional(buildNullableSchema(Type.Integer({ minimum: 0 })));

/** Either alphabet of base64, with or without padding. */
const Bytes = Type.Optional(Type.String({ pattern: '^[A-Za-z0-9+/_-]*={0,2}$' }));
const Url = Type.Optional(Type.String({ maxLength: 8192 }));
const ShortText = Type.Optional(buildNullableSchema(Type.String({ maxLength: 255 })));

const file = Type.Object({ bytes: Bytes, uri: Url, mimeType: ShortText, name: ShortText });
const Part = Type.Object({
  kind: Type.Optional(buildEnumSchema(['text', 'data', 'file'])),
  text: Type.Optional(Type.String()),
  raw: Bytes,
  url: Url,
  data: Type.Optional(buildAnySchema('JSON.')),
  file: Type.Optional(file),
  mediaType: ShortText,
  filename: ShortText,
  metadata: OptionalObject,
});

const buildMessageSchema = (role: string): TObject =>
  Type.Object({
    messageId: Id,
    role: buildEnumSchema([role]),
    parts: Type.Array(Part, { minItems: 1 }),
    taskId: OptionalId,
    contextId: OptionalId,
    referenceTaskIds: Type.Optional(buildNullableSchema(Type.Array(Type.String()))),
    metadata: OptionalObject,
  });

const Secret = Type.Optional(buildNullableSchema(Type.String({ maxLength: 4096 })));

/** Where push notifications go, in the words of both versions: `schemes` is that of 0.3. */
const push = {
  id: OptionalId,
  url: Type.String({ minLength: 1, maxLength: 4096 }),
  token: Secret,
  authentication: Type.Optional(
    buildNullableSchema(
      Type.Object({
        scheme: Secret,
        schemes: Type.Optional(buildNullableSchema(Type.Array(Type.String(), { maxItems: 10 }))),
        credentials: Secret,
      }),
    ),
  ),
};

const Configuration = Type.Object({
  acceptedOutputModes: Type.Optional(buildNullableSchema(Type.Array(Type.String()))),
  historyLength: HistoryLength,
  returnImmediately: Type.Optional(buildNullableSchema(Type.Boolean())),
  blocking: Type.Optional(buildNullableSchema(Type.Boolean())),
  taskPushNotificationConfig: Type.Optional(buildNullableSchema(Type.Object(push))),
  pushNotificationConfig: Type.Optional(buildNullableSchema(Type.Object(push))),
});

const buildRequestSchema = (params: TSchema): TObject => Type.Object({ params });
const send = (role: string): TObject =>
  buildRequestSchema(
    Type.Object({
      message: buildMessageSchema(role),
      configuration: Type.Optional(buildNullableSchema(Configuration)),
      metadata: OptionalObject,
    }),
  );
const ofTask = buildRequestSchema(Type.Object({ id: Id, historyLength: HistoryLength }));

const STATES = [
  'SUBMITTED',
  'WORKING',
  'COMPLETED',
  'FAILED',
  'CANCELED',
  'INPUT_REQUIRED',
  'REJECTED',
  'AUTH_REQUIRED',
  'UNSPECIFIED',
];

const list = buildRequestSchema(
  Type.Object({
    contextId: OptionalId,
    status: Type.Optional(
      buildNullableSchema(buildEnumSchema(STATES.map((state) => `TASK_STATE_${state}`))),
    ),
    pageSize: Type.Optional(buildNullableSchema(Type.Integer({ minimum: 1, maximum: 100 }))),
    pageToken: Type.Optional(buildNullableSchema(Type.String())),
    historyLength: HistoryLength,
    statusTimestampAfter: Type.Optional(
      buildNullableSchema(buildDateTimeSchema('Only tasks that changed then or later.')),
    ),
    includeArtifacts: Type.Optional(buildNullableSchema(Type.Boolean())),
  }),
);

const ofConfig = buildRequestSchema(Type.Object({ taskId: Id, id: Id }));
const ofTaskOnly = buildRequestSchema(Type.Object({ taskId: Id }));

/** Method -> its request. Methods that are not here have nothing to check. */
export const A2A_REQUESTS: Record<string, TObject> = {
  SendMessage: send('ROLE_USER'),
  SendStreamingMessage: send('ROLE_USER'),
  'message/send': send('user'),
  'message/stream': send('user'),
  GetTask: ofTask,
  CancelTask: ofTask,
  SubscribeToTask: ofTask,
  'tasks/get': ofTask,
  'tasks/cancel': ofTask,
  'tasks/resubscribe': ofTask,
  ListTasks: list,
  CreateTaskPushNotificationConfig: buildRequestSchema(Type.Object({ ...push, taskId: Id })),
  GetTaskPushNotificationConfig: ofConfig,
  ListTaskPushNotificationConfigs: ofTaskOnly,
  DeleteTaskPushNotificationConfig: ofConfig,
  'tasks/pushNotificationConfig/set': buildRequestSchema(
    Type.Object({ taskId: Id, pushNotificationConfig: Type.Object(push) }),
  ),
  'tasks/pushNotificationConfig/get': buildRequestSchema(
    Type.Object({ id: Id, pushNotificationConfigId: OptionalId }),
  ),
  'tasks/pushNotificationConfig/list': buildRequestSchema(Type.Object({ id: Id })),
  'tasks/pushNotificationConfig/delete': buildRequestSchema(
    Type.Object({ id: Id, pushNotificationConfigId: Id }),
  ),
};

/** Methods that start a run. */
export const A2A_SENDS = ['SendMessage', 'SendStreamingMessage', 'message/send', 'message/stream'];

/** Methods that change something. */
export const A2A_WRITES = [
  ...A2A_SENDS,
  'CancelTask',
  'tasks/cancel',
  'CreateTaskPushNotificationConfig',
  'DeleteTaskPushNotificationConfig',
  'tasks/pushNotificationConfig/set',
  'tasks/pushNotificationConfig/delete',
];

/** Methods that are answered with a stream. */
export const A2A_STREAMS = [
  'SendStreamingMessage',
  'SubscribeToTask',
  'message/stream',
  'tasks/resubscribe',
];
