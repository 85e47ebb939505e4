/*
 * Messages of a build's containers to the operator: each writes one, in JSON, as its termination message.
 */

/** Why a build ends, as its own stages tell it. */
export type StageReason =
  | 'CloneFailed'
  | 'RefMissing'
  | 'ConfigMissing'
  | 'InstallFailed'
  | 'BuildFailed'
  | 'PushFailed'
  | 'DiskFull'
  | 'UserNamespacesOff'
  | typeof NEEDS_DOCKERFILE;

/** The reason of `restore` for a repository that only BuildKit can build; the operator then starts the build there. */
export const NEEDS_DOCKERFILE = 'NeedsDockerfile';

/** The stages in their order. Each is a container of the build's pod. */
export const STAGES = ['clone', 'restore', 'build', 'push'] as const;
export type BuildStage = (typeof STAGES)[number];
/** The stage whose end is that of the build. */
export const LAST_STAGE = 'push' satisfies BuildStage;

/** The container beside `build` that stands for private indexes of packages, and its port at the loopback address. */
export const INDEXES = 'indexes';
export const INDEX_PORT = 8471;

export type StageFailure = { reason: StageReason; message: string };

export type ClonedCommit = { commit: string };

/**
 * The message of `push`. `restored` says whether the packages came from an earlier build. `architecture` is the one
 * kind of processors that runs the image, by the name that nodes have for it.
 */
export type PushedImage = {
  image: string;
  commit: string;
  digest: string;
  builder: string;
  restored: boolean;
  architecture: string;
};
