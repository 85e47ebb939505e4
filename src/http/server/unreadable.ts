import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The parser's code -> status line and sentence. Any other code means that the request is not HTTP. */
const ANSWERS: Record<string, [status: string, detail: string]> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'Address and headers of the request are too large.',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not arrive in time.'],
};
const NO_HTTP = ['400 Bad Request', 'The request is not valid HTTP.'] as const;

/** Answers requests that the HTTP parser rejects with `{detail}`, as all errors are. Such requests reach no route. */
export function answerUnreadable(server: Server): void {
  const answers = new WeakMap<Socket, ServerResponse>();
  server.on('request', ({ socket }, response) => {
    answers.set(socket, response);
    response.once('close', () => answers.delete(socket));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket;
    // An answer that is being sent must not be interrupted by another one.
    const begun = answers.get(socket)?.headersSent === true;
    if (error.code === 'ECONNRESET' || !socket.writable || begun) return void socket.destroy();
    const [status, detail] = ANSWERS[error.code ?? ''] ?? NO_HTTP;
    const body = JSON.stringify({ detail });
    socket.end(
      `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  });
}
