import { createHash } from 'node:crypto';
import { createWriteStream, openAsBlob } from 'node:fs';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { StageFailed } from '../../errors.ts';
import type { AskRegistry } from './client.ts';
import { getApiHost, OCI_MANIFEST, getImageVersion, type ImageReference } from './reference.ts';

export type Descriptor = {
  mediaType: string;
  digest: string;
  size: number;
  annotations?: Record<string, string>;
};
export type BaseManifest = { mediaType: string; config: Descriptor; layers: Descriptor[] };
export type Manifest = {
  schemaVersion: 2;
  mediaType: string;
  artifactType?: string;
  config: Descriptor;
  layers: Descriptor[];
  annotations?: Record<string, string>;
};

const DOCKER_MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';
const INDEXES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];
const ACCEPTED = [OCI_MANIFEST, DOCKER_MANIFEST, ...INDEXES].join(', ');

/** Repositories of one registry: where blobs are, and where they go. */
type Place = { host: string; repository: string };

const DIGEST = /^sha256:[0-9a-f]{64}$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;

/**
 * Returns the path of a part of a repository. A digest or tag of another form could lead to any other path of the
 * registry, which would be asked with the credential, so it throws for one.
 */
function buildPath({ repository }: Place, kind: 'blobs' | 'manifests', version: string): string {
  if (!DIGEST.test(version) && (kind === 'blobs' || !TAG.test(version)))
    throw new StageFailed(
      'PushFailed',
      `${JSON.stringify(version.slice(0, 200))} names nothing in ${repository}: it is no digest or tag.`,
    );
  return `/v2/${repository}/${kind}/${version}`;
}

export const computeDigest = (bytes: Uint8Array): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** The kind of processors of this machine, by the name that images and nodes have for it. */
export const OWN_ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch;

/** Returns a manifest and its digest; undefined where there is none. Of several it is that of this platform. */
export async function readManifest(
  ask: AskRegistry,
  image: ImageReference,
): Promise<{ manifest: BaseManifest; digest: string; bytes: Uint8Array } | undefined> {
  const { host, repository } = image;
  const answer = await ask(host, buildPath(image, 'manifests', getImageVersion(image)), {
    headers: { accept: ACCEPTED },
  });
  if (answer.status === 404) return undefined;
  if (!answer.ok) throw await buildUnexpectedFailure(answer, image);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const read = JSON.parse(Buffer.from(bytes).toString()) as
    | (Partial<BaseManifest> & { config: Descriptor; layers: Descriptor[] })
    | { manifests: (Descriptor & { platform?: { architecture: string; os: string } })[] };
  // OCI's manifests may leave out their type.
  const mediaType = answer.headers.get('content-type') ?? OCI_MANIFEST;
  if (!('manifests' in read))
    return { manifest: { mediaType, ...read }, digest: computeDigest(bytes), bytes };
  const own = read.manifests.find(
    ({ platform }) => platform?.os === 'linux' && platform.architecture === OWN_ARCHITECTURE,
  );
  return own === undefined
    ? undefined
    : readManifest(ask, { host, repository, digest: own.digest });
}

/** Returns the answer that holds a blob. */
export async function readBlob(ask: AskRegistry, place: Place, digest: string): Promise<Response> {
  const answer = await ask(place.host, buildPath(place, 'blobs', digest));
  if (!answer.ok) throw await buildUnexpectedFailure(answer, place);
  return answer;
}

/** Writes a blob to a file. Returns false, and leaves the file, if the content does not match the digest. */
export async function fetchBlob(
  ask: AskRegistry,
  place: Place,
  digest: string,
  file: string,
): Promise<boolean> {
  const answer = await readBlob(ask, place, digest);
  const hash = createHash('sha256');
  const hear = new Transform({
    transform(piece: Buffer, _encoding, done) {
      hash.update(piece);
      done(null, piece);
    },
  });
  await pipeline(
    Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]),
    hear,
    createWriteStream(file),
  );
  return `sha256:${hash.digest('hex')}` === digest;
}

export async function hasBlob(ask: AskRegistry, place: Place, digest: string): Promise<boolean> {
  const answer = await ask(place.host, buildPath(place, 'blobs', digest), { method: 'HEAD' });
  return answer.ok;
}

/** Where the bytes of a blob are: here, or in a repository of a registry. */
export type BlobSource = { file: string } | { bytes: Uint8Array<ArrayBuffer> } | { from: Place };

/**
 * Brings a blob into a repository. A blob that is there already, or in another repository of the same registry, is not
 * sent. Returns the number of bytes sent.
 */
export async function ensureBlob(
  ask: AskRegistry,
  to: Place,
  { digest, size }: { digest: string; size: number },
  source: BlobSource & { near?: readonly Place[] },
): Promise<number> {
  if (await hasBlob(ask, to, digest)) return 0;
  const places = ['from' in source ? source.from : undefined, ...(source.near ?? [])].filter(
    (place) => place !== undefined,
  );
  let upload: Response | undefined;
  for (const { host, repository } of places.filter(
    (place) => place.host === to.host && place.repository !== to.repository,
  )) {
    const from = `mount=${encodeURIComponent(digest)}&from=${encodeURIComponent(repository)}`;
    upload = await ask(host, `/v2/${to.repository}/blobs/uploads/?${from}`, { method: 'POST' });
    if (upload.status === 201) return 0;
    if (upload.status !== 202) upload = undefined;
  }
  upload ??= await ask(to.host, `/v2/${to.repository}/blobs/uploads/`, { method: 'POST' });
  const address = upload.headers.get('location');
  if (upload.status !== 202 || address === null) throw await buildUnexpectedFailure(upload, to);
  const url = new URL(address, 'https://registry.invalid');
  url.searchParams.set('digest', digest);
  const body = await readBlobBody(ask, digest, source);
  // A registry behind a proxy may take its own scheme for the caller's.
  const whole = ['registry.invalid', getApiHost(to.host)].includes(url.host)
    ? `${url.pathname}${url.search}`
    : url.href;
  const answer = await ask(to.host, whole, {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream' },
    body,
  });
  if (answer.status !== 201) throw await buildUnexpectedFailure(answer, to);
  return size;
}

async function readBlobBody(
  ask: AskRegistry,
  digest: string,
  source: BlobSource,
): Promise<Blob | Uint8Array<ArrayBuffer>> {
  if ('bytes' in source) return source.bytes;
  return 'file' in source
    ? openAsBlob(source.file)
    : (await readBlob(ask, source.from, digest)).blob();
}

export async function putManifest(
  ask: AskRegistry,
  place: Place,
  version: string,
  manifest: Manifest,
): Promise<string> {
  const bytes = new Uint8Array(Buffer.from(JSON.stringify(manifest)));
  const headers = { 'content-type': manifest.mediaType };
  const answer = await ask(place.host, buildPath(place, 'manifests', version), {
    method: 'PUT',
    headers,
    body: bytes,
  });
  if (answer.status !== 201) throw await buildUnexpectedFailure(answer, place);
  return computeDigest(bytes);
}

const MEANINGS: Record<number, string> = {
  401: 'it refuses the credential; renew config.json in the Secret of the registry',
  403: 'the credential may not do this; give it the right to push to this repository',
  404: 'it has no such repository; create it, or let the credential create it',
  413: 'the layer is too large for it, or for the proxy before it',
};

async function buildUnexpectedFailure(
  answer: Response,
  { host, repository }: Place,
): Promise<StageFailed> {
  const answered = (await answer.text().catch(() => '')).slice(0, 300).replace(/\s+/g, ' ').trim();
  const meaning = MEANINGS[answer.status] ?? 'look into its log';
  return new StageFailed(
    'PushFailed',
    `The registry ${host} answered ${answer.status} for ${repository}: ${meaning}. ${answered}`.trim(),
  );
}
