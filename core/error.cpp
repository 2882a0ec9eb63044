#include <tantu/core/error.h>

namespace tantu {

// Out of line, so that each class has one vtable and one typeinfo in the core library.
Error::~Error() = default;
ShapeError::~ShapeError() = default;
DTypeError::~DTypeError() = default;
DeviceError::~DeviceError() = default;
ValueError::~ValueError() = default;
IndexError::~IndexError() = default;
AutogradError::~AutogradError() = default;
OutOfMemoryError::~OutOfMemoryError() = default;
AcceleratorError::~AcceleratorError() = default;
DistError::~DistError() = default;
FormatError::~FormatError() = default;

}  // namespace tantu
