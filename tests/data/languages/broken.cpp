#include "nowhere.h"
namespace half {
int whole(int x) { return x + 1; }
class Torn {
 public:
  int kept() { return whole(2); }
  int lost(int x { return
};
@@@ )))
int after(int x) { return x; }
