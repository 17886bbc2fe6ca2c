import { Drawer } from "@mantine/core";
import { Rail } from "./Rail";

/** The rail on phones. Loaded when it is first opened. */
export default function RailDrawer({ onClose }: { onClose: () => void }) {
  return (
    <Drawer opened onClose={onClose} size={264} withCloseButton={false} padding={0} aria-label="Pages">
      <Rail collapsed={false} onGo={onClose} />
    </Drawer>
  );
}
