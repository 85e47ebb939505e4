/**
 * Runs the scripts that the other container writes into the folder beside, `1.sh` first, until it says that there are
 * no more. The exit status of each comes last.
 */
export const RUN_SCRIPTS = `cd "$PIPE/answers" || exit 1
number=1
while [ ! -e ../orders/stop ]; do
  if [ ! -e "../orders/$number.sh" ]; then sleep 0.2; continue; fi
  sh "../orders/$number.sh" > "$number.out" 2> "$number.error"
  echo $? > "$number.ended"
  mv "$number.ended" "$number.end"
  number=$((number + 1))
done`;
