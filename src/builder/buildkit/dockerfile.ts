import { StageFailed } from '../../errors.ts';
import type { GxJson } from '../../schema/agent/gx-json.ts';
import { buildImageSettings } from '../packages/image-environment.ts';
import { parseImageReference } from '../registry/reference.ts';

export type DockerfileInputs = {
  settings: GxJson;
  /** The base image of agents, unless gx.json names one. */
  baseImage: string;
  /** From the root of the repository; the folder is empty for the root itself. */
  configFile: string;
  folder: string;
  python: boolean;
  /** The builder's environment while the image is made. */
  env: Readonly<Record<string, string>>;
};

/** Where the builder works while the image is made. Nothing of it stays. */
const WORK = '/gx-build';
/** The secret that a build may be given: further certificate authorities. */
export const AUTHORITIES = { id: 'gx-authorities', path: '/run/gx-authorities.crt' };
/** The user and group of agents in every image of ours. */
const OWNER = '10001:10001';

/**
 * Returns a Dockerfile that makes the same image as a build without one, but on another base image or behind the lines
 * of gx.json. Installing and building is the base image's own builder's, as the agents' user.
 */
export function buildDockerfile({
  settings,
  baseImage,
  configFile,
  folder,
  python,
  env,
}: DockerfileInputs): string {
  const { base_image: named, dockerfile_lines: lines = [] } = settings;
  const base = named ?? baseImage;
  if (parseImageReference(base) === undefined)
    throw new StageFailed(
      'BuildFailed',
      `"base_image" of gx.json is not the name of an image: ${base}.`,
    );
  const second = lines.find((line) => /^\s*FROM\s/i.test(line));
  if (second !== undefined)
    throw new StageFailed(
      'BuildFailed',
      `"dockerfile_lines" of gx.json can't begin another stage (${second.trim()}): use "dockerfile".`,
    );
  const given = Object.entries({ ...env, GX_WORK_FOLDER: WORK, GX_CONFIG_PATH: configFile });
  const image = buildImageSettings({ configFile, folder, python });
  return [
    `FROM ${base} AS gx-lines`,
    'USER 0:0',
    'WORKDIR /agent',
    ...lines,
    'FROM gx-lines AS gx-built',
    'USER 0:0',
    `RUN mkdir -p ${WORK} && chown ${OWNER} ${WORK}`,
    `COPY --chown=${OWNER} . ${WORK}/source/`,
    `USER ${OWNER}`,
    `RUN --mount=type=secret,id=${AUTHORITIES.id},target=${AUTHORITIES.path},mode=0444 \\`,
    `  ${given.map(([name, value]) => `${name}=${quoteText(value)}`).join(' ')} node /app/src/main.ts builder inside`,
    'FROM gx-lines',
    'USER 0:0',
    `RUN --mount=type=bind,from=gx-built,source=${WORK}/image,target=${WORK} \\`,
    `  for layer in production source; do [ ! -f ${WORK}/$layer.tar.gz ] || tar -xzf ${WORK}/$layer.tar.gz -C /; done`,
    `ENV ${Object.entries(image.env)
      .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
      .join(' ')}`,
    `WORKDIR ${JSON.stringify(image.workdir)}`,
    `USER ${OWNER}`,
    '',
  ].join('\n');
}

/** Quotes a text for a shell. A line break would end the instruction. */
const quoteText = (text: string): string =>
  `'${text.replaceAll("'", String.raw`'\''`).replaceAll(/\s*\n\s*/g, '; ')}'`;
