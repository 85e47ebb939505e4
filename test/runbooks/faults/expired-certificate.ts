import { X509Certificate } from 'node:crypto';
import {
  deployed,
  isReady,
  labelsOf,
  NAMESPACE,
  newName,
  removed,
  statusOf,
  variablesOf,
} from '../agents.ts';
import { certificateOf, serveOld, suspend } from '../certificates.ts';
import type { Fault } from '../fault.ts';

/** Days of a certificate that expired yesterday. */
const AGE = 91;
/** Milliseconds for which one that was just made is good, at least. */
const GOOD = 80 * 86_400_000;

export const expiredCertificate: Fault = {
  name: 'a certificate of a database that has expired while its deployment was suspended',
  plant: async (scene) => {
    const name = newName('expired');
    await deployed(scene, name);
    await suspend(scene, name);
    const databaseCertificateUntil = (await serveOld(scene, name, AGE)).toISOString();
    // The operator wrote it three months ago, and nobody can wait so long.
    const status = JSON.stringify({ status: { databaseCertificateUntil } });
    await scene.kubectl(
      'patch',
      'gxd',
      name,
      '-n',
      NAMESPACE,
      '--subresource=status',
      '--type=merge',
      '-p',
      status,
    );
    return {
      labels: labelsOf(name),
      variables: variablesOf(name),
      isCured: async () => {
        const { validToDate } = new X509Certificate(await certificateOf(scene, name));
        const { databaseCertificateUntil: until = '' } = await statusOf(scene, name);
        return (
          validToDate.getTime() > Date.now() + GOOD &&
          Date.parse(until) > Date.now() + GOOD &&
          isReady(scene, name)
        );
      },
      remove: () => removed(scene, name),
    };
  },
  found: { alert: 'GxDatabaseCertificateExpires', seconds: 60 },
  page: { file: 'database-certificate-expires.md', entry: 'suspended' },
  cured: { seconds: 120 },
};
