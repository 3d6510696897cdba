/** Commands of ours in our own sentences: whoever types one must reach the machine that the sentence is about. */

/** Commands that look at a machine, where they are not asked for something that needs none. */
const LOOKING =
  /\bgpuctl (snapshot|diff|clean-zombies|verify-isolation|reset-gpu|watch|doctor)\b(?! --(?:source|help|list|lint)\b)/g;

/** Repeats an option, such as `--source sim:DIR`, in every command that a sentence of ours names. */
export function repeatOption(sentence: string, option: string | undefined): string {
  return option === undefined ? sentence : sentence.replace(LOOKING, (command) => `${command} ${option}`);
}
