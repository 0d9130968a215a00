/** Looks up a name in an automounter's directory in each tier, as each user, and reads what is mounted there. */
import { automountsIn } from "../../lib/sandbox/layout/host.ts";
import { makePlace } from "./place.ts";
import { everyUser, NoSuchTier, openTier, users } from "./tiers.ts";

const [directory = ""] = process.argv.slice(2);
const { places, mounted } = automountsIn();
for (const tier of ["namespaces", "bwrap", "landlock", "none"] as const)
  for (const user of tier === "none" ? users : everyUser) {
    await using place = makePlace({}, "/var/tmp");
    try {
      await using opened = await openTier(tier, place, {
        user,
        grants: { automounts: places, read: mounted, network: "none" },
      });
      await opened.run(`ls -d ${directory}/DATA.${tier}.${user}`);
      const { stdout } = await opened.run(`cat ${directory}/there/file`);
      console.log(`${tier} ${user}: ${stdout.trim()}`);
    } catch (error) {
      if (!(error instanceof NoSuchTier)) throw error;
      console.log(`${tier} ${user}: mounted`);
    }
  }
