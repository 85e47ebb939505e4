/** The release of CloudNativePG with which the page is typed: by default the one whose Secret the system tests have. */
const VERSION = process.env['CNPG_VERSION'] ?? '1.30.0';
const [, LINE = ''] = /^(\d+\.\d+)\./.exec(VERSION) ?? [];

export const OPERATOR_IMAGE = `ghcr.io/cloudnative-pg/cloudnative-pg:${VERSION}`;
export const MANIFEST = `https://raw.githubusercontent.com/cloudnative-pg/cloudnative-pg/release-${LINE}/releases/cnpg-${VERSION}.yaml`;
