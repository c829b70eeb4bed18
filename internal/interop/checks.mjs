// Proves nothing itself: runs the checks of the other files. A series of checks maps names to functions.

// run runs checks one after the other and returns how many failed.
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

// named returns the checks whose names contain the words, or one of several with a | between.
export function named(checks, words) {
  return Object.fromEntries(Object.entries(checks).filter(([name]) => words.split('|').some((some) => name.includes(some))));
}

// report prints the sums and sets the exit status. Running no check is a failure.
export function report(made, failed) {
  console.log(`${made - failed} passed, ${failed} failed`);
  process.exitCode = made === 0 || failed ? 1 : 0;
}

// runAll runs and reports the checks of a script that has one series of them.
export async function runAll(checks) {
  report(Object.keys(checks).length, await run(checks));
}
