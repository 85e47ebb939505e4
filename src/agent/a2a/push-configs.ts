import { randomUUID } from 'node:crypto';
import type {
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { Rejected } from '../../errors.ts';
import {
  addPushConfig,
  pushConfigsOf,
  removePushConfig,
  type PushTarget,
  type TaskIds,
} from '../db/webhooks/push-configs.ts';
import type { PushConfig } from '../db/webhooks/webhooks.ts';
import type { Db } from '../db/base/pool.ts';
import { isHeaderValue } from '../webhooks/headers.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { A2aPackage } from './package.ts';
import type { FoundTask } from './tasks.ts';

export type PushDeps = { db: Db; webhooks: Webhooks };

type PushRequest = {
  a2a: A2aPackage;
  /** The version that notifications speak: that of the request which asks for them. */
  version: PushConfig['version'];
  /** Returns a task of the caller, who may do this on it. Throws the protocol's error for an unknown one. */
  find: (id: string, action: 'read' | 'change') => Promise<FoundTask>;
};

/** Whom tasks tell what becomes of them. */
export class PushConfigs {
  readonly #deps: PushDeps;
  readonly #facts: PushRequest;

  constructor(deps: PushDeps, facts: PushRequest) {
    this.#deps = deps;
    this.#facts = facts;
  }

  /** Checks a configuration that comes with a message. Throws the protocol's error for one that can't be used. */
  requireTarget(given: TaskPushNotificationConfig, at: string): PushTarget {
    this.#refuseWhereOff();
    const { id, url, token, authentication } = given;
    const { host } = this.#deps.webhooks.resolveOuterTarget(url, [at, 'url']);
    const { scheme = '', credentials = '' } = authentication ?? {};
    const refuse = (field: string, problem: string): never => {
      throw new Rejected(`${at}.${field}: ${problem}`);
    };
    if (!isHeaderValue(token)) refuse('token', 'has a character that no header can have.');
    if (!/^[\w!#$%&'*+.^`|~-]*$/.test(scheme))
      refuse('authentication.scheme', 'is not the name of a scheme, such as Bearer.');
    if (!isHeaderValue(credentials))
      refuse('authentication.credentials', 'have a character that no header can have.');
    if (scheme === '' && credentials !== '') refuse('authentication.scheme', 'is missing.');
    const config: PushConfig = {
      id: id === '' ? randomUUID() : id,
      url,
      version: this.#facts.version,
      token,
      authentication: scheme === '' ? null : { scheme, credentials },
    };
    return { host, config };
  }

  async create(given: TaskPushNotificationConfig): Promise<TaskPushNotificationConfig> {
    const target = this.requireTarget(given, 'params');
    await addPushConfig(
      this.#deps.db,
      toTaskIds(await this.#facts.find(given.taskId, 'change')),
      target,
    );
    return { ...given, id: target.config.id };
  }

  /** Without an id, which version 0.3 permits, it is the first one. */
  async get({
    taskId,
    id,
  }: GetTaskPushNotificationConfigRequest): Promise<TaskPushNotificationConfig> {
    const all = await this.#loadConfigs(taskId);
    const found = id === '' ? all[0] : all.find((config) => config.id === id);
    if (found === undefined)
      throw new this.#facts.a2a.errors.TaskNotFoundError(
        `The task ${taskId} has no such configuration: ${id}`,
      );
    return toClientConfig(taskId, found);
  }

  async list({
    taskId,
  }: ListTaskPushNotificationConfigsRequest): Promise<ListTaskPushNotificationConfigsResponse> {
    const all = await this.#loadConfigs(taskId);
    return { configs: all.map((config) => toClientConfig(taskId, config)), nextPageToken: '' };
  }

  /** One that is not there is as good as deleted. */
  async delete({ taskId, id }: DeleteTaskPushNotificationConfigRequest): Promise<void> {
    this.#refuseWhereOff();
    await removePushConfig(this.#deps.db, toTaskIds(await this.#facts.find(taskId, 'change')), id);
  }

  async #loadConfigs(taskId: string): Promise<PushConfig[]> {
    this.#refuseWhereOff();
    return pushConfigsOf(this.#deps.db, toTaskIds(await this.#facts.find(taskId, 'read')));
  }

  #refuseWhereOff(): void {
    if (!this.#deps.webhooks.enabled)
      throw new this.#facts.a2a.errors.PushNotificationNotSupportedError();
  }
}

const toTaskIds = ({ first, run }: FoundTask): TaskIds => ({
  thread_id: run.thread_id,
  first,
});

/** Tokens and credentials are never shown: a caller who may read a task need not know them. */
const toClientConfig = (
  taskId: string,
  { id, url, authentication }: PushConfig,
): TaskPushNotificationConfig => ({
  tenant: '',
  id,
  taskId,
  url,
  token: '',
  authentication:
    authentication === null ? undefined : { scheme: authentication.scheme, credentials: '' },
});
