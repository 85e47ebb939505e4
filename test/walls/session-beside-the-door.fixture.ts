// at: src/operator/backup/planted-session.ts
// rule: sessions
export const COUNT_ROWS = `cd "$PIPE" && psql -X -q "$ADDRESS" -c 'select count(*) from gx.thread'`;
