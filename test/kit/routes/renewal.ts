import { once } from 'node:events';
import { connect, type DetailedPeerCertificate } from 'node:tls';
import { prober } from '../prober.ts';
import { until } from '../until.ts';
import { read, leftIn, post, stepping, type Reached } from './steps-stream.ts';
import type { Entrance } from './way.ts';

type Renewal = Reached & { entrance: Entrance; authority: string; renew: () => Promise<void> };
type Found = { failures: string[]; rounds: number; left: number[]; broke: boolean };

/** Asks on new connections all the time, and reads a stream, while a certificate is replaced and until it is shown. */
export async function underRenewal({
  entrance,
  authority,
  renew,
  ...reached
}: Renewal): Promise<Found> {
  const ask = async (): Promise<void> => {
    const answer = await fetch(`${reached.url}/ok`, { headers: { connection: 'close' } });
    if (!answer.ok) throw new Error(`/ok answered ${answer.status}`);
  };
  const load = [prober(ask, 5), prober(ask, 5)];
  const stream = post(reached, '/runs/stream', stepping(5, 1000)).then((answer) => read(answer));
  const shown = (): Promise<string> =>
    serialOf({ entrance, authority, host: new URL(reached.url).hostname });
  const before = await shown();
  await renew();
  await until('the new certificate is shown', async () => (await shown()) !== before, 60);
  const found = await stream;
  const ended = await Promise.all(load.map((one) => one.stop()));
  return {
    failures: ended.flatMap(({ failures }) => failures),
    rounds: ended.reduce((sum, { rounds }) => sum + rounds, 0),
    left: leftIn(found),
    broke: found.broke,
  };
}

/** Returns the serial number of the certificate that a new connection gets. */
async function serialOf({
  entrance,
  authority,
  host,
}: Pick<Renewal, 'entrance' | 'authority'> & { host: string }): Promise<string> {
  const socket = connect({ ...entrance.https, servername: host, ca: authority });
  await once(socket, 'secureConnect');
  const { serialNumber } = socket.getPeerCertificate() as DetailedPeerCertificate;
  socket.destroy();
  return serialNumber;
}
