import type { Report } from '../steps.ts';
import type { BaseName, Image } from './list.ts';

export type Build = {
  image: Image;
  reference: string;
  buildArguments: Record<string, string>;
  /** Stages that were built before, as images of their own. */
  stages: Record<string, string>;
  report: Report;
};

/** A builder of images: Docker, or buildah where there is neither Docker nor a registry. */
export type Engine = {
  /** The name of the image that the engine puts below the Dockerfile. It is part of every key. */
  base: string;
  /**
   * Makes the engine ready to build, and returns the build arguments of the base images. Called once, and only if
   * something is to be built. `further` names those that only some images need.
   */
  prepare(report: Report, further: readonly BaseName[]): Promise<Record<string, string>>;
  has(reference: string): Promise<boolean>;
  build(build: Build): Promise<void>;
  /** Writes the image as an archive that `ctr image import` and `docker load` take. */
  save(reference: string, archive: string): Promise<void>;
  /** Removes an image that has no archive any more. */
  remove(reference: string): Promise<void>;
};
