import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** Returns this machine's address on its way to a node, at which the node and its pods reach it. */
export async function addressToward(node: string): Promise<string> {
  const socket = createSocket('udp4');
  socket.connect(9, node);
  await once(socket, 'connect');
  const { address } = socket.address();
  socket.close();
  return address;
}
