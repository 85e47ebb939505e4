-- Frees restored runs and threads from the revisions of the original, which the new deployment does not have. Any
-- revision executes them. Backups of earlier schemas have no revisions.
do $do$ begin
  if to_regclass('gx.rollout') is null then return; end if;
  delete from gx.rollout;
  update gx.run set revision = null where revision is not null;
  update gx.thread set revision = null, kept = null where revision is not null or kept is not null;
end $do$;
