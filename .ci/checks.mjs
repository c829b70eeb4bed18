// Runs checks, which are functions by their names, and says what became of each.

// run does one after the other, and returns how many failed.
export async function run(checks) {
  let failed = 0;
  for (const [name, check] of Object.entries(checks)) {
    const began = Date.now();
    try {
      await check();
      console.log(`ok    ${name} (${Date.now() - began} ms)`);
    } catch (error) {
      failed++;
      console.log(`FAIL  ${name}\n      ${error.message.replaceAll('\n', '\n      ')}`);
    }
  }
  return failed;
}

// report prints the sum, which .ci/run shows, and sets the exit status.
export function report(made, failed) {
  console.log(`${made - failed} passed, ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
}

// runAll is all of it for a script that has one series of checks.
export async function runAll(checks) {
  report(Object.keys(checks).length, await run(checks));
}
